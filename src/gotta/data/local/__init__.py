"""What is on this machine's disk: looking, checking, downloading, making."""
