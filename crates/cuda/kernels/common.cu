// The kernels whose ranks are parameters.
#include "device.h"

#include "chain.cu"
#include "any.cu"
#include "rows.cu"
#include "noise.cu"
#include "core.cu"
#include "passes.cu"
#include "graph.cu"
