"""Each rank adds ten ones to those of the others, with MLX's own ring.

distributed_launch -n 4 examples/mlx_all_sum.py
mlx.launch -n 4 -- python examples/mlx_all_sum.py
"""

import mlx.core as mx

world = mx.distributed.init(strict=True, backend="ring")
x = mx.distributed.all_sum(mx.ones(10))
print(world.rank(), x)
