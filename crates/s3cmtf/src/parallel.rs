//! Work for all threads of the pool that it is called in.
//!
//! All of it comes down to [`split`], which knows what is to be done by a reference alone, so that rayon is compiled once, and not
//! again for each closure and each kind of iterator. What is generic here is small: a loop over the items that a thread was given.
//!
//! Pieces and items are as the caller has cut them, and results are in their order, whatever the number of threads is: sums over
//! pieces are the same on any machine.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Lists that are changed are cut into this many blocks per thread: enough that threads end at about the same time where some
/// blocks take far longer than others.
const BLOCKS: usize = 32;
/// Several threads have between so many and twice as many parts of the work each, before it is known which of them are slower.
const PARTS: usize = 4;
/// As many numbers are dealt with by one thread at least: for fewer, another one would come too late.
const NUMBERS: usize = 1 << 10;

/// Visits the numbers below `count`, in ranges that are not shorter than `least` where there are as many.
pub(crate) fn each_range(count: usize, least: usize, visit: impl Fn(Range<usize>) + Sync) {
    let halvings = match rayon::current_num_threads() {
        1 => 1,
        threads => PARTS * threads,
    };
    split(0..count, least.max(1), halvings, false, &visit);
}

/// Visits items, each of which may be a part of a list that is to be changed. For pieces that are worth a task of their own.
pub(crate) fn each<I: Send>(items: impl IntoIterator<Item = I>, visit: impl Fn(I) + Sync) {
    let slots = Slots::new(items);
    each_range(slots.len(), 1, |range| slots.taken(range, &mut |item| visit(item)));
}

/// What `of` makes of each number below `count`.
pub(crate) fn map<T: Send>(count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    found(count, 1, true, &|range, found| range.for_each(|number| found.push(of(number))))
}

/// What `of` makes of each item. For pieces that are worth a task of their own.
pub(crate) fn map_of<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    of: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let slots = Slots::new(items);
    found(slots.len(), 1, true, &|range, found| slots.taken(range, &mut |item| found.push(of(item))))
}

/// The same, with memory to work in that `begin` makes for some items after each other.
pub(crate) fn map_with<I: Send, S, T: Send>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S + Sync,
    of: impl Fn(&mut S, I) -> T + Sync,
) -> Vec<T> {
    let slots = Slots::new(items);
    found(slots.len(), 1, true, &|range, found| {
        let mut scratch = begin();
        slots.taken(range, &mut |item| found.push(of(&mut scratch, item)));
    })
}

/// What `of` makes of each item, or the first error in their order. Items after an error may not be visited.
pub(crate) fn try_map_of<I: Send, T: Send, E: Send>(
    items: impl IntoIterator<Item = I>,
    of: impl Fn(I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    try_map_with(items, || (), |(), item| of(item))
}

/// The same, with memory to work in that `begin` makes for some items after each other.
pub(crate) fn try_map_with<I: Send, S, T: Send, E: Send>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S + Sync,
    of: impl Fn(&mut S, I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (slots, failed) = (Slots::new(items), Failed::default());
    let found = found(slots.len(), 1, true, &|range, found| {
        let mut scratch = begin();
        for number in range.take_while(|&number| failed.is_after(number)) {
            match of(&mut scratch, slots.take(number)) {
                Ok(result) => found.push(result),
                Err(error) => failed.put(number, error),
            }
        }
    });
    failed.or(found)
}

/// What is found in ranges of the numbers below `count`, which are not shorter than `least` where there are as many; in their
/// order.
pub(crate) fn gather<T: Send>(
    count: usize,
    least: usize,
    find: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) -> Vec<T> {
    found(count, least, false, &find)
}

/// Whether something is true of all numbers below `count`.
pub(crate) fn all(count: usize, is_so: impl Fn(usize) -> bool + Sync) -> bool {
    let all = AtomicBool::new(true);
    each_range(count, NUMBERS, |mut range| {
        if all.load(Ordering::Relaxed) && !range.all(&is_so) {
            all.store(false, Ordering::Relaxed);
        }
    });
    all.into_inner()
}

/// Visits the chunks of a list, with their numbers. The list is cut into blocks of whole chunks first, so that a chunk may be as
/// short as a row.
pub(crate) fn chunks_mut<T: Send>(list: &mut [T], size: usize, visit: impl Fn(usize, &mut [T]) + Sync) {
    chunks_mut_with(list, size, || (), |(), number, chunk| visit(number, chunk));
}

/// The same for rows that take little each: as many of them together as are worth a task.
pub(crate) fn rows_mut<T: Send>(list: &mut [T], size: usize, visit: impl Fn(usize, &mut [T]) + Sync) {
    blocks_mut(list, size, NUMBERS.div_ceil(size), &|blocks| {
        for (first, block) in blocks {
            for (offset, row) in block.chunks_mut(size).enumerate() {
                visit(first + offset, row);
            }
        }
    });
}

/// The same as [`chunks_mut`], with memory to work in that `begin` makes for some chunks after each other.
pub(crate) fn chunks_mut_with<T: Send, S>(
    list: &mut [T],
    size: usize,
    begin: impl Fn() -> S + Sync,
    visit: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    blocks_mut(list, size, 1, &|blocks| {
        let mut scratch = begin();
        for (first, block) in blocks {
            for (offset, chunk) in block.chunks_mut(size).enumerate() {
                visit(&mut scratch, first + offset, chunk);
            }
        }
    });
}

/// Changes each number of a list, given its place.
pub(crate) fn change<T: Send>(list: &mut [T], change: impl Fn(usize, &mut T) + Sync) {
    blocks_mut(list, 1, NUMBERS, &|blocks| {
        for (first, block) in blocks {
            for (offset, value) in block.iter_mut().enumerate() {
                change(first + offset, value);
            }
        }
    });
}

/// A list of what `of` makes of each place.
pub(crate) fn numbers<T: Send + Clone + Default>(count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut numbers = vec![T::default(); count];
    change(&mut numbers, |place, number| *number = of(place));
    numbers
}

/// A list of what `of` makes of each number of another.
pub(crate) fn numbers_of<A: Sync, T: Send + Clone + Default>(
    list: &[A],
    of: impl Fn(&A) -> T + Sync,
) -> Vec<T> {
    let mut numbers = vec![T::default(); list.len()];
    blocks_mut(&mut numbers, 1, NUMBERS, &|blocks| {
        for (first, block) in blocks {
            for (number, value) in block.iter_mut().zip(&list[first..]) {
                *number = of(value);
            }
        }
    });
    numbers
}

/// What two closures return, which may run beside each other.
pub(crate) fn both<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut one, mut other) = (Some(one), Some(other));
    let (mut of_one, mut of_other) = (None, None);
    beside(&mut || of_one = one.take().map(|one| one()), &mut || {
        of_other = other.take().map(|other| other());
    });
    (of_one.expect("it ran"), of_other.expect("it ran"))
}

fn beside(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    rayon::join(one, other);
}

/// Visits a range in parts of at least `least` numbers. It is halved `halvings` times, which comes to some parts per thread, and
/// again whenever a thread without work has taken a part: work that is uneven is dealt out anew, and little is dealt out at all
/// where every thread has some. These are the rules of rayon's own iterators.
fn split(
    range: Range<usize>,
    least: usize,
    halvings: usize,
    moved: bool,
    visit: &(dyn Fn(Range<usize>) + Sync),
) {
    if range.len() / 2 < least || !(moved || halvings > 0) {
        if !range.is_empty() {
            visit(range);
        }
        return;
    }
    let halvings = if moved { (halvings / 2).max(rayon::current_num_threads()) } else { halvings / 2 };
    let middle = range.start + range.len() / 2;
    rayon::join_context(
        |context| split(range.start..middle, least, halvings, context.migrated(), visit),
        |context| split(middle..range.end, least, halvings, context.migrated(), visit),
    );
}

/// What is found in ranges, in their order. There is `one_each` if as much is found as a range is long.
fn found<T: Send>(
    count: usize,
    least: usize,
    one_each: bool,
    find: &(dyn Fn(Range<usize>, &mut Vec<T>) + Sync),
) -> Vec<T> {
    let lists = Lists::default();
    each_range(count, least, |range| {
        let first = range.start;
        let mut list = Vec::with_capacity(if one_each { range.len() } else { 0 });
        find(range, &mut list);
        lists.put(first, list);
    });
    lists.joined()
}

/// Some blocks of a list, each with the number of its first chunk.
type Blocks<'b, T> = dyn Iterator<Item = (usize, &'b mut [T])> + 'b;
/// What is done with them, by one thread.
type VisitBlocks<'v, T> = dyn for<'b> Fn(&mut Blocks<'b, T>) + Sync + 'v;

/// Visits the blocks of a list; each is of whole chunks, at least `least`, but for the last.
fn blocks_mut<T: Send>(list: &mut [T], size: usize, least: usize, visit: &VisitBlocks<'_, T>) {
    let count = list.len().div_ceil(size);
    let chunks = count.div_ceil(BLOCKS * rayon::current_num_threads()).max(least);
    let slots = Slots::new(list.chunks_mut(chunks * size));
    each_range(slots.len(), 1, |range| {
        visit(&mut range.map(|number| (number * chunks, slots.take(number))));
    });
}

/// Items that are taken once each, by whichever thread comes to them.
struct Slots<I>(Vec<Mutex<Option<I>>>);

impl<I> Slots<I> {
    fn new(items: impl IntoIterator<Item = I>) -> Self {
        Slots(items.into_iter().map(|item| Mutex::new(Some(item))).collect())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn take(&self, number: usize) -> I {
        let item = self.0[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.expect("no item is visited twice")
    }

    fn taken(&self, range: Range<usize>, visit: &mut dyn FnMut(I)) {
        range.for_each(|number| visit(self.take(number)));
    }
}

/// Lists of results, in the order of where they begin.
struct Lists<T>(Mutex<Vec<(usize, Vec<T>)>>);

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists(Mutex::new(Vec::new()))
    }
}

impl<T> Lists<T> {
    fn put(&self, first: usize, list: Vec<T>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = lists.partition_point(|(other, _)| *other < first);
        lists.insert(place, (first, list));
    }

    fn joined(self) -> Vec<T> {
        let lists = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let count: usize = lists.iter().map(|(_, list)| list.len()).sum();
        let mut lists = lists.into_iter().map(|(_, list)| list);
        let mut all = lists.next().unwrap_or_default();
        all.reserve_exact(count - all.len());
        lists.for_each(|mut list| all.append(&mut list));
        all
    }
}

/// The first error so far, and which item has it.
struct Failed<E> {
    number: AtomicUsize,
    error: Mutex<Option<E>>,
}

impl<E> Default for Failed<E> {
    fn default() -> Self {
        Failed { number: AtomicUsize::new(usize::MAX), error: Mutex::new(None) }
    }
}

impl<E> Failed<E> {
    /// Whether an item may have an error that comes before it.
    fn is_after(&self, number: usize) -> bool {
        number < self.number.load(Ordering::Relaxed)
    }

    fn put(&self, number: usize, error: E) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_after(number) {
            self.number.store(number, Ordering::Relaxed);
            *first = Some(error);
        }
    }

    fn or<T>(self, found: T) -> Result<T, E> {
        self.error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(found), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn results_are_in_order_whatever_the_number_of_threads() {
        for threads in [1, 2, 7] {
            pool(threads).install(|| {
                for count in [0, 1, 2, 5, 1000] {
                    let squares: Vec<usize> = (0..count).map(|number| number * number).collect();
                    assert_eq!(map(count, |number| number * number), squares);
                    assert_eq!(map_of(0..count, |number| number * number), squares);
                    assert_eq!(map_with(0..count, || 2, |power, number| number.pow(*power)), squares);
                    assert_eq!(numbers_of(&squares, |&square| square + 1), map(count, |n| n * n + 1));
                    let odd = gather(count, 3, |range, found| found.extend(range.filter(|n| n % 2 == 1)));
                    assert_eq!(odd, (0..count).filter(|n| n % 2 == 1).collect::<Vec<_>>());
                }
            });
        }
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        for threads in [1, 2, 7] {
            pool(threads).install(|| {
                for _ in 0..20 {
                    let bad = |number: usize| if number % 300 == 299 { Err(number) } else { Ok(number) };
                    assert_eq!(try_map_of(0..1000, bad), Err(299));
                    assert_eq!(try_map_of(0..299, bad), Ok((0..299).collect()));
                    assert_eq!(try_map_of(0..0, bad), Ok(Vec::new()));
                    let late = |number: usize| {
                        // The last one fails at once, and the first one much later.
                        let wait = u64::from(number == 0);
                        std::thread::sleep(std::time::Duration::from_millis(wait));
                        if number == 0 || number == 99 { Err(number) } else { Ok(()) }
                    };
                    assert_eq!(try_map_of(0..100, late), Err(0));
                }
            });
        }
    }

    #[test]
    fn chunks_have_their_numbers_and_the_last_is_what_is_left() {
        for threads in [1, 3] {
            pool(threads).install(|| {
                for (len, size) in [(0, 3), (2, 3), (3, 3), (1001, 3), (100_000, 7), (100_000, 1)] {
                    let mut list = vec![0; len];
                    chunks_mut(&mut list, size, |number, chunk| {
                        assert_eq!(chunk.len(), size.min(len - number * size));
                        chunk.iter_mut().for_each(|value| *value += number);
                    });
                    assert!(list.iter().enumerate().all(|(place, &value)| value == place / size));
                    change(&mut list, |place, value| *value = place - *value);
                    assert!(list.iter().enumerate().all(|(place, &value)| value == place - place / size));
                }
            });
        }
    }

    #[test]
    fn one_that_is_not_so_is_enough() {
        for count in [0, 1, 5 * NUMBERS] {
            assert!(all(count, |number| number < count));
            assert!(count == 0 || !all(count, |number| number + 1 < count));
        }
    }

    #[test]
    fn items_are_visited_once_each() {
        let mut lists = (vec![0; 10], vec![0; 7]);
        let pieces = lists.0.chunks_mut(3).zip(lists.1.chunks_mut(2));
        each(pieces.enumerate(), |(number, (one, other))| {
            one.iter_mut().for_each(|value| *value += number + 1);
            other.iter_mut().for_each(|value| *value += number + 1);
        });
        assert_eq!(lists, (vec![1, 1, 1, 2, 2, 2, 3, 3, 3, 4], vec![1, 1, 2, 2, 3, 3, 4]));
        each(std::iter::empty::<usize>(), |_| panic!("there are none"));
    }

    #[test]
    fn memory_to_work_in_is_made_for_many_items_at_once() {
        let made = AtomicUsize::new(0);
        let begin = || made.fetch_add(1, Ordering::Relaxed);
        pool(1).install(|| map_with(0..1000, begin, |_, number| number));
        assert!(made.into_inner() <= 2);
    }

    #[test]
    fn all_threads_of_the_pool_take_part_and_no_others() {
        let pool = pool(3);
        // Each waits for the others, so that one thread alone would never end.
        let barrier = std::sync::Barrier::new(3);
        let seen = Mutex::new(HashSet::new());
        pool.install(|| {
            map(3, |_| {
                seen.lock().unwrap().insert(rayon::current_thread_index().unwrap());
                assert_eq!(rayon::current_num_threads(), 3);
                barrier.wait();
            })
        });
        assert_eq!(seen.into_inner().unwrap(), HashSet::from([0, 1, 2]));
    }

    #[test]
    fn two_closures_return_what_they_found() {
        let mut list = vec![1];
        let (sum, text) = both(
            || (0..10).sum::<usize>(),
            || {
                list.push(2);
                String::from("text")
            },
        );
        assert_eq!((sum, text.as_str(), list), (45, "text", vec![1, 2]));
    }
}
