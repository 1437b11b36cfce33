"""What methods share: how a network is called, losses, parameters, augmentation."""
