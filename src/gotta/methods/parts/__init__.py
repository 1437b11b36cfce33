"""What methods share: losses, layers, teachers, augmentation."""
