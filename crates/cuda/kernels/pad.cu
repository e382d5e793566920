// The kernels of one padded rank, whose sums are in registers: compiled once for each PAD.
#include "device.h"

#include "sums.cu"
#include "solves.cu"
#include "leaves.cu"
#include "tuples.cu"
