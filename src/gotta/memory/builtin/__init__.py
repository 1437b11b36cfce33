"""The policies that come with gotta, one small file each."""
