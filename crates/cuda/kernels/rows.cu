// Draws of rows of any rank, given the sums over their entries; the rows that averages of these ask for; the scale of concepts.
// solves.cu has the draws of ranks that are compiled for.

// Some lanes of a warp that share a small symmetric system: its lower triangle row by row, its diagonal, its right side.
struct System {
    u32 free;
    u32 lane;
    u32 lanes;
    double* triangle;
    double* diagonal;
    double* side;

    DEVICE double& at(u32 k, u32 l) { return triangle[k * (k + 1) / 2 + l]; }

    // The Cholesky factor; where rounding has made the matrix indefinite, the pivot is kept above zero.
    DEVICE void factorize() {
        for (u32 j = 0; j < free; ++j) {
            double rest = diagonal[j];
            for (u32 k = 0; k < j; ++k) rest -= at(j, k) * at(j, k);
            double pivot = sqrt(at_least(at_least(rest, LEAST_PIVOT * diagonal[j]), LEAST_NUMBER));
            for (u32 i = j + 1 + lane; i < free; i += lanes) {
                double sum = at(i, j);
                for (u32 k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
                at(i, j) = sum / pivot;
            }
            if (lane == 0) at(j, j) = pivot;
            __syncwarp();
        }
    }

    DEVICE void solve_lower() {
        for (u32 i = 0; i < free; ++i) {
            double value = side[i] / at(i, i);
            __syncwarp();
            if (lane == 0) side[i] = value;
            for (u32 j = i + 1 + lane; j < free; j += lanes) side[j] -= at(j, i) * value;
            __syncwarp();
        }
    }

    DEVICE void solve_upper() {
        for (u32 i = free; i-- > 0;) {
            double value = side[i] / at(i, i);
            __syncwarp();
            if (lane == 0) side[i] = value;
            for (u32 j = lane; j < i; j += lanes) side[j] -= at(i, j) * value;
            __syncwarp();
        }
    }
};

// How many doubles a group of lanes needs: the host has the same number.
DEVICE u32 system_room(u32 rank) { return (rank - 1) * rank / 2 + 3 * rank; }

DEVICE System system_of(u32 rank, u32 lanes, double* scratch) {
    u32 groups = blockDim.x / lanes, group = threadIdx.x / lanes, room = system_room(rank);
    double* own = scratch ? scratch + (u64)(blockIdx.x * groups + group) * room : SHARED(double) + group * room;
    double* side = own + (rank - 1) * rank / 2;
    return {rank - 1, threadIdx.x % lanes, lanes, own, side + rank, side};
}

// Visits all rows, a group of lanes each. Groups without a row do as others do, so that lanes can wait for each other, and leave
// nothing: `real` says so.
template <class F>
DEVICE void for_each_row(u32 rows, u32 lanes, F visit) {
    u32 groups = blockDim.x / lanes, turns = (rows + gridDim.x * groups - 1) / (gridDim.x * groups);
    for (u32 turn = 0; turn < turns; ++turn) {
        u32 row = (turn * gridDim.x + blockIdx.x) * groups + threadIdx.x / lanes;
        bool real = row < rows;
        visit(real ? row : 0, real);
        __syncwarp();
    }
}

// Draws rows: first concept 1, the others from their distribution given that. `errors` gets each row's sum of squared errors.
KERNEL draw_rows_any(u32 mode, u32 rows, u32 rank, u32 pad, u32 lanes, const float* __restrict__ sums,
                     const float* __restrict__ squares, const float* __restrict__ means, const float* __restrict__ pulls,
                     const float* __restrict__ diagonals, const float* __restrict__ shared,
                     const float* __restrict__ roots, const Scalars* __restrict__ scalars, u64 seed, u32 epoch,
                     float* __restrict__ factor, double* __restrict__ errors, double* __restrict__ scratch) {
    System system = system_of(rank, lanes, scratch);
    Terms terms = {pulls, diagonals, shared};
    u32 free = system.free, lane = system.lane, triangle = pad * (pad + 1) / 2;
    double* partial = system.diagonal + rank;
    for_each_row(rows, lanes, [&](u32 row, bool real) {
        const float* own = sums + (u64)row * (triangle + pad);
        const float* mean = means ? means + (u64)row * rank : nullptr;
        double weight = weight_of_row(scalars, roots, row);
        for (u32 k = 0; k < free; ++k) {
            const float* line = own + (k + 1) * (k + 2) / 2;
            double prior = prior_of(scalars, k + 1);
            for (u32 l = lane; l <= k; l += lanes) {
                double number = weight * (double)line[l + 1] + (l == k ? prior : 0.0);
                if (terms.pull) number += terms.precision(row, k + 1, l + 1);
                system.at(k, l) = number;
                if (l == k) system.diagonal[k] = number;
            }
            if (k % lanes == lane) {
                double side = pull_of(own, triangle, k + 1, weight, prior, mean);
                system.side[k] = terms.pull ? side + terms.side(row, rank, k + 1) : side;
            }
        }
        __syncwarp();
        system.factorize();
        system.solve_lower();
        // The mean would be L'^-1 of this; a draw is L'^-1 of this and a normal number each.
        for (u32 i = lane; i < free; i += lanes) {
            Random random(seed, ROWS, mode, row, epoch);
            random.counter[3] = i;
            system.side[i] += random.normal();
        }
        __syncwarp();
        system.solve_upper();
        double error = 0.0;
        for (u32 k = lane; k < rank; k += lanes) {
            const float* line = own + k * (k + 1) / 2;
            double value = k == 0 ? 1.0 : system.side[k - 1], product = 0.0;
            for (u32 l = 0; l < k; ++l) product += (double)line[l] * (l == 0 ? 1.0 : system.side[l - 1]);
            product = 2.0 * product + (double)line[k] * value;
            error += value * (product - 2.0 * (double)own[triangle + k]);
            if (real) factor[(u64)row * pad + k] = (float)value;
        }
        // Lanes beyond the rank have nothing.
        if (lane < rank) partial[lane] = error;
        __syncwarp();
        if (lane == 0 && real) {
            double sum = squares[row];
            for (u32 i = 0; i < lanes && i < rank; ++i) sum += partial[i];
            errors[row] = at_least(sum, 0.0);
        }
    });
}
REGISTER(draw_rows_any)

// The rows that averaged distributions ask for.
KERNEL mean_rows_any(u32 rows, u32 rank, u32 pad, u32 lanes, const float* __restrict__ natural, float* __restrict__ factor,
                     double* __restrict__ scratch) {
    System system = system_of(rank, lanes, scratch);
    u32 free = system.free, lane = system.lane, below = free * (free + 1) / 2;
    for_each_row(rows, lanes, [&](u32 row, bool real) {
        const float* own = natural + (u64)row * (below + free);
        for (u32 i = lane; i < below; i += lanes) system.triangle[i] = own[i];
        for (u32 i = lane; i < free; i += lanes) {
            system.side[i] = own[below + i];
            system.diagonal[i] = own[i * (i + 1) / 2 + i];
        }
        __syncwarp();
        system.factorize();
        system.solve_lower();
        system.solve_upper();
        for (u32 k = lane; real && k < rank; k += lanes) {
            factor[(u64)row * pad + k] = k == 0 ? 1.0f : (float)system.side[k - 1];
        }
    });
}
REGISTER(mean_rows_any)

// For each concept the sum of something over the rows of each block: of squares less means, or if `plain`, of numbers.
KERNEL BOUNDS(1024, 1) column_parts(u32 rows, u32 rank, u32 pad, u32 plain, const float* __restrict__ factor,
                    const float* __restrict__ means, double* __restrict__ parts) {
    u32 lines = blockDim.x / pad, line = threadIdx.x / pad, k = threadIdx.x % pad;
    double sum = 0.0;
    for (u32 row = blockIdx.x * lines + line; line < lines && k < rank && row < rows; row += gridDim.x * lines) {
        double value = factor[(u64)row * pad + k];
        if (means) value -= (double)means[(u64)row * rank + k];
        sum += plain ? value : value * value;
    }
    double* room = SHARED(double);
    room[threadIdx.x] = sum;
    __syncthreads();
    if (line == 0 && k < rank) {
        for (u32 other = 1; other < lines; ++other) sum += room[other * pad + k];
        parts[(u64)blockIdx.x * rank + k] = sum;
    }
}
REGISTER(column_parts)

// The sum of a concept's parts, by a warp.
DEVICE double sum_parts(const double* parts, u32 blocks, u32 rank, u32 k) {
    double sum = 0.0;
    for (u32 block = threadIdx.x % 32; block < blocks; block += 32) sum += parts[(u64)block * rank + k];
    for (u32 mask = 1; mask < 32; mask *= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, mask);
    return sum;
}

// What the concepts of a mode are multiplied with, so that their prior's precision is 1.
KERNEL draw_scales(u32 mode, u32 rows, u32 rank, u32 blocks, const double* __restrict__ parts, u64 seed, u32 epoch,
                   float* __restrict__ scales) {
    u32 k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (k >= rank) return;
    double sum = sum_parts(parts, blocks, rank, k);
    if (threadIdx.x % 32 > 0) return;
    Random random(seed, SCALES, mode, k, epoch);
    scales[k] = k == 0 ? 1.0f : (float)sqrt(random.gamma(1.0 + 0.5 * (double)rows, 0.5 + 0.5 * sum));
}
REGISTER(draw_scales)

// Puts the scales of a mode among those of all modes.
KERNEL put_scales(u32 rank, u32 first, const float* __restrict__ scales, float* __restrict__ all) {
    for (u32 k = threadIdx.x; k < rank; k += blockDim.x) all[first + k] = scales[k];
}
REGISTER(put_scales)

KERNEL scale_rows(u32 rows, u32 rank, u32 pad, const float* __restrict__ scales, float* __restrict__ factor) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 k = (u32)(i % pad);
    if (i < (u64)rows * pad && k < rank) factor[i] *= scales[k];
}
REGISTER(scale_rows)

// Where a number of a triangle is, by rows.
DEVICE u32 row_in_triangle(u32 place) {
    u32 k = (u32)((sqrtf(8.0f * (float)place + 1.0f) - 1.0f) * 0.5f);
    while ((k + 1) * (k + 2) / 2 <= place) ++k;
    while (k * (k + 1) / 2 > place) --k;
    return k;
}

// Moves averaged distributions by `share` of the way towards those that rows are drawn from: the triangle of the precision and then
// the pull. Apart from the draws, so that neighbouring threads have neighbouring numbers.
KERNEL average_natural(u32 rows, u32 rank, u32 pad, const float* __restrict__ sums, const float* __restrict__ means,
                       const float* __restrict__ pulls, const float* __restrict__ diagonals,
                       const float* __restrict__ shared, const float* __restrict__ roots,
                       const Scalars* __restrict__ scalars, float share, float* __restrict__ natural) {
    Terms terms = {pulls, diagonals, shared};
    u32 free = rank - 1, below = free * (free + 1) / 2, len = below + free, triangle = pad * (pad + 1) / 2;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)rows * len) return;
    u32 row = (u32)(i / len), place = (u32)(i % len);
    const float* own = sums + (u64)row * (triangle + pad);
    double weight = weight_of_row(scalars, roots, row), number;
    if (place < below) {
        u32 k = row_in_triangle(place), l = place - k * (k + 1) / 2;
        number = weight * (double)own[(k + 1) * (k + 2) / 2 + l + 1];
        if (k == l) number += prior_of(scalars, k + 1);
        if (terms.pull) number += terms.precision(row, k + 1, l + 1);
    } else {
        u32 k = place - below + 1;
        const float* mean = means ? means + (u64)row * rank : nullptr;
        number = pull_of(own, triangle, k, weight, prior_of(scalars, k), mean);
        if (terms.pull) number += terms.side(row, rank, k);
    }
    float old = natural[i];
    natural[i] = old + share * ((float)number - old);
}
REGISTER(average_natural)

// Averaged distributions follow the scale of rows.
KERNEL scale_natural(u32 rows, u32 rank, const float* __restrict__ scales, float* __restrict__ natural) {
    u32 free = rank - 1, below = free * (free + 1) / 2, len = below + free;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)rows * len) return;
    u32 place = (u32)(i % len);
    if (place >= below) {
        natural[i] /= scales[place - below + 1];
        return;
    }
    u32 k = row_in_triangle(place);
    natural[i] /= scales[k + 1] * scales[place - k * (k + 1) / 2 + 1];
}
REGISTER(scale_natural)

// The mean row, behind the last, for ids that are not known.
KERNEL average_row(u32 rows, u32 rank, u32 pad, u32 blocks, const double* __restrict__ parts, float* __restrict__ factor) {
    u32 k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (k >= rank) return;
    double sum = sum_parts(parts, blocks, rank, k);
    if (threadIdx.x % 32 > 0) return;
    factor[(u64)rows * pad + k] = k == 0 ? 1.0f : (float)(sum / (double)(rows > 0 ? rows : 1));
}
REGISTER(average_row)
