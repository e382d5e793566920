// Draws of the core: conjugate gradients for a system with a random right side, and the precisions of its prior.

#define PRIOR_RATE 0.01

DEVICE double precision_of(const Shape& shape, u32 place, const double* sets, const double* concepts) {
    double precision = sets[set_of(shape, place)];
    for (u32 mode = 0; mode < shape.order; ++mode) {
        precision *= concepts[shape.first[mode] + concept_of(shape, place, mode)];
    }
    return precision;
}

// The residual of the core as it is, with its random part, and the first direction.
KERNEL begin_core(const Shape* __restrict__ shapes, const float* __restrict__ gradient, const float* __restrict__ core,
                  const unsigned char* __restrict__ zero, const double* __restrict__ sets,
                  const double* __restrict__ concepts, const Scalars* __restrict__ scalars, u64 seed, u32 epoch,
                  double* __restrict__ change, double* __restrict__ precisions, double* __restrict__ pull,
                  double* __restrict__ residual, double* __restrict__ direction, float* __restrict__ narrow) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= shapes->len) return;
    double precision = precision_of(*shapes, place, sets, concepts), value = core[place];
    Random random(seed, CORE, 0, place, epoch);
    double rest = scalars->tau * (double)gradient[place] - precision * value + sqrt(precision) * random.normal();
    if (zero[place]) rest = 0.0;
    change[place] = 0.0;
    precisions[place] = precision;
    pull[place] = rest;
    residual[place] = rest;
    direction[place] = rest;
    narrow[place] = (float)rest;
}
REGISTER(begin_core)

// One block: a step, given the direction's product with the data's part of the system, of which there is so many times as much. The
// last step leaves the whole change where others leave the next direction.
KERNEL BOUNDS(1024, 1) step_core(u32 len, u32 first, u32 last, double scale, const float* __restrict__ product,
                 const unsigned char* __restrict__ zero, const double* __restrict__ precisions, Scalars* __restrict__ scalars,
                 double* __restrict__ change, double* __restrict__ residual, double* __restrict__ direction,
                 float* __restrict__ narrow) {
    double* room = SHARED(double);
    double length = scalars->length, stopped = scalars->stopped, times = scalars->tau * scale;
    if (first) {
        double sum = 0.0;
        for (u32 i = threadIdx.x; i < len; i += blockDim.x) sum += residual[i] * residual[i];
        length = block_sum(sum, room);
        stopped = 0.0;
    }
    double sum = 0.0;
    for (u32 i = threadIdx.x; i < len; i += blockDim.x) {
        double there = zero[i] ? 0.0 : times * (double)product[i] + precisions[i] * direction[i];
        sum += direction[i] * there;
    }
    double curvature = block_sum(sum, room), next = length;
    bool moves = stopped == 0.0 && curvature > 0.0 && length > 0.0;
    if (moves) {
        double step = length / curvature;
        sum = 0.0;
        for (u32 i = threadIdx.x; i < len; i += blockDim.x) {
            double there = zero[i] ? 0.0 : times * (double)product[i] + precisions[i] * direction[i];
            change[i] += step * direction[i];
            residual[i] -= step * there;
            sum += residual[i] * residual[i];
        }
        next = block_sum(sum, room);
        double keep = next / length;
        for (u32 i = threadIdx.x; i < len; i += blockDim.x) {
            direction[i] = residual[i] + keep * direction[i];
            narrow[i] = (float)direction[i];
        }
    }
    for (u32 i = threadIdx.x; last && i < len; i += blockDim.x) narrow[i] = (float)change[i];
    if (threadIdx.x == 0) {
        scalars->length = next;
        scalars->stopped = moves ? 0.0 : 1.0;
    }
}
REGISTER(step_core)

// One block: the core is changed. If there are parts of the sum of squares of what the change predicts, it goes as far as that says.
KERNEL BOUNDS(1024, 1) end_core(u32 len, const double* __restrict__ parts, u32 count, const double* __restrict__ precisions,
                const double* __restrict__ pull, const double* __restrict__ change, const Scalars* __restrict__ scalars,
                float* __restrict__ core) {
    double* room = SHARED(double);
    double far = 1.0;
    if (count > 0) {
        double along = 0.0, curvature = 0.0;
        for (u32 i = threadIdx.x; i < len; i += blockDim.x) {
            along += change[i] * pull[i];
            curvature += precisions[i] * change[i] * change[i];
        }
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) curvature += scalars->tau * parts[i];
        along = block_sum(along, room);
        curvature = block_sum(curvature, room);
        far = curvature > 0.0 ? along / curvature : 0.0;
    }
    for (u32 i = threadIdx.x; i < len; i += blockDim.x) core[i] = (float)((double)core[i] + far * change[i]);
}
REGISTER(end_core)

// A block for each concept of a mode: its precision.
KERNEL draw_concepts(u32 mode, const Shape* __restrict__ shapes, const float* __restrict__ core,
                     const unsigned char* __restrict__ zero, const double* __restrict__ sets, u64 seed, u32 epoch,
                     double* __restrict__ concepts) {
    const Shape& shape = *shapes;
    // An offset is a set of its own.
    u32 k = blockIdx.x + 2, inner = shape.inner[mode], rank = shape.rank[mode], some = shape.len / rank;
    double count = 0.0, squares = 0.0;
    for (u32 i = threadIdx.x; i < some; i += blockDim.x) {
        u32 place = (i / inner * rank + k) * inner + i % inner;
        if (zero[place]) continue;
        double others = precision_of(shape, place, sets, concepts) / concepts[shape.first[mode] + k];
        count += 1.0;
        squares += others * (double)core[place] * (double)core[place];
    }
    count = block_sum(count, SHARED(double));
    squares = block_sum(squares, SHARED(double));
    if (threadIdx.x > 0) return;
    Random random(seed, PRIOR, mode, k, epoch);
    concepts[shape.first[mode] + k] = random.gamma(1.0 + 0.5 * count, PRIOR_RATE + 0.5 * squares);
}
REGISTER(draw_concepts)

// A block for each set of modes: the precision of their interactions.
KERNEL draw_sets(const Shape* __restrict__ shapes, const float* __restrict__ core, const unsigned char* __restrict__ zero,
                 const double* __restrict__ concepts, u64 seed, u32 epoch, double* __restrict__ sets) {
    const Shape& shape = *shapes;
    u32 set = blockIdx.x;
    double count = 0.0, squares = 0.0;
    for (u32 place = threadIdx.x; place < shape.len; place += blockDim.x) {
        if (zero[place] || set_of(shape, place) != set) continue;
        double relevance = 1.0;
        for (u32 mode = 0; mode < shape.order; ++mode) {
            relevance *= concepts[shape.first[mode] + concept_of(shape, place, mode)];
        }
        count += 1.0;
        squares += relevance * (double)core[place] * (double)core[place];
    }
    count = block_sum(count, SHARED(double));
    squares = block_sum(squares, SHARED(double));
    if (threadIdx.x > 0 || count == 0.0) return;
    Random random(seed, PRIOR, MOST_MODES, set, epoch);
    sets[set] = random.gamma(1.0 + 0.5 * count, PRIOR_RATE + 0.5 * squares);
}
REGISTER(draw_sets)

// The core follows the scale of rows: `scales` are those of all modes, one behind the other.
KERNEL scale_core(const Shape* __restrict__ shapes, const float* __restrict__ scales, float* __restrict__ core) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= shapes->len) return;
    float value = core[place];
    for (u32 mode = 0; mode < shapes->order; ++mode) {
        value /= scales[shapes->first[mode] + concept_of(*shapes, place, mode)];
    }
    core[place] = value;
}
REGISTER(scale_core)

// Moves means towards a draw: the core's, and that of the variance of entries.
KERNEL mean_core(u32 len, float share, const float* __restrict__ core, float* __restrict__ mean,
                 Scalars* __restrict__ scalars) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < len) mean[place] += share * (core[place] - mean[place]);
    if (place == 0) scalars->variance += (double)share * (1.0 / scalars->tau - scalars->variance);
}
REGISTER(mean_core)
