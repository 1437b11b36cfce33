"""Levels of BatchNorm layers that follow the domain and not the mix of classes."""
