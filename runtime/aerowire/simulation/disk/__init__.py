"""The disks of a simulated world: what a host's processes have written, what of it survives the loss of power, and what fails.

`Disk` is a host's, `SimulatedFiles` the port by which its processes use it; `DiskFaults` says what goes wrong, and when.
"""
