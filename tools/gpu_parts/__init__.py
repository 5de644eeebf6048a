"""The parts of `make gpu`, a module each, and what they share.

    machine     whether there is a GPU, what it is, and where NVIDIA's libraries are
    limited     programs that are stopped when their time is over, with what they have said by then
    outcomes    tests by their outcomes, those that fail once more
    result      what a part says
    kernels     all kernels, compiled ahead
    contract    the contract's tests
    backend     the tests of the PyTorch side
    train       networks that train, beside the CPU
    operators   operators and training steps, beside PyTorch's own device cuda
    sanitizer   compute-sanitizer

`kernels_program`, `train_program` and `operators_program` run in processes of their own, `plugin` in pytest's.
"""
