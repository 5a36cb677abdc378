"""What one host says about itself, from its probes."""
