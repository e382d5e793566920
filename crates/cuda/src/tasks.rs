//! Work in parts of bounded length.

use std::ops::Range;

/// Some elements of a target, and the slot that their sum goes to: `start`, `end`, `slot`, `target`.
pub(crate) type Task = [u32; 4];

/// A target whose elements are in several tasks, and their slots: `target`, `first`, `count`.
pub(crate) type Split = [u32; 3];

/// The most elements of a task, within bounds: few enough for so many tasks, so that no long one is left when all others are over.
pub(crate) fn longest(elements: usize, tasks: usize, [least, most]: [u32; 2]) -> u32 {
    u32::try_from(elements / tasks).unwrap_or(most).clamp(least, most)
}

/// The work on all targets.
pub(crate) struct Tasks {
    /// The longest first, so that those that run beside each other are about as long.
    pub(crate) tasks: Vec<Task>,
    pub(crate) splits: Vec<Split>,
    /// A slot for each target, and behind them those of tasks that share one.
    pub(crate) slots: usize,
}

impl Tasks {
    /// Targets whose elements start at these places, the last of which is the end; no task has more than `most` of them. A
    /// target without elements has a task without any.
    pub(crate) fn new(starts: &[u32], most: u32) -> Self {
        let targets = starts.len().saturating_sub(1);
        let (mut tasks, mut splits, mut slots) = (Vec::with_capacity(targets), Vec::new(), targets);
        for (target, pair) in (0u32..).zip(starts.windows(2)) {
            let (start, end) = (pair[0], pair[1]);
            if end - start <= most {
                tasks.push([start, end, target, target]);
                continue;
            }
            // Parts of about equal length.
            let count = (end - start).div_ceil(most);
            let part =
                |part: u32| start + ((u64::from(end - start) * u64::from(part)) / u64::from(count)) as u32;
            splits.push([target, slots as u32, count]);
            tasks.extend((0..count).map(|i| [part(i), part(i + 1), slots as u32 + i, target]));
            slots += count as usize;
        }
        Tasks { tasks: longest_first(&tasks), splits, slots }
    }
}

/// Tasks that follow each other, of about so many elements, and where these begin and end.
pub(crate) struct Stretch {
    /// Their elements are counted from the beginning of these.
    pub(crate) tasks: Vec<Task>,
    pub(crate) elements: Range<usize>,
}

impl Tasks {
    /// The tasks in stretches, each as long as there are fewer than so many elements in it.
    pub(crate) fn stretches(mut self, len: usize) -> Vec<Stretch> {
        self.tasks.sort_unstable_by_key(|&[start, end, slot, _]| (start, end, slot));
        let mut rest = &self.tasks[..];
        let mut stretches = Vec::new();
        while let Some(&[first, ..]) = rest.first() {
            let count = rest.partition_point(|&[start, ..]| ((start - first) as usize) < len.max(1));
            let (own, behind) = rest.split_at(count);
            let tasks =
                own.iter().map(|&[start, end, slot, target]| [start - first, end - first, slot, target]);
            let tasks = longest_first(&tasks.collect::<Vec<_>>());
            let end = own.last().map_or(first, |&[_, end, ..]| end);
            stretches.push(Stretch { tasks, elements: first as usize..end as usize });
            rest = behind;
        }
        stretches
    }
}

/// Tasks in the order of their lengths, and otherwise as they were.
fn longest_first(tasks: &[Task]) -> Vec<Task> {
    let longest = tasks.iter().map(|[start, end, ..]| end - start).max().unwrap_or(0);
    let shorter = |&[start, end, ..]: &Task| (longest - (end - start)) as usize;
    let mut next = vec![0; longest as usize + 2];
    tasks.iter().for_each(|task| next[shorter(task) + 1] += 1);
    (1..next.len()).for_each(|length| next[length] += next[length - 1]);
    let mut sorted = vec![[0; 4]; tasks.len()];
    for task in tasks {
        let place = &mut next[shorter(task)];
        sorted[*place] = *task;
        *place += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_elements_are_in_short_tasks() {
        let found =
            [0, 1000, 8_000_000, 100_000_000, usize::MAX].map(|all| longest(all, 1 << 15, [64, 2048]));
        assert_eq!(found, [64, 64, 244, 2048, 2048]);
    }

    #[test]
    fn stretches_have_every_task_once() {
        let starts = [0, 3, 3, 25, 25, 25, 30, 30];
        let tasks = || Tasks::new(&starts, 5);
        for len in [1, 4, 7, 30, 1000] {
            let (mut end, mut seen) = (0, Vec::new());
            for Stretch { tasks, elements } in tasks().stretches(len) {
                assert_eq!(elements.start, end);
                assert!(tasks.is_sorted_by_key(|task| std::cmp::Reverse(task[1] - task[0])));
                // As long as a task more than that at most.
                assert!(elements.len() < len + 5);
                seen.extend(
                    tasks
                        .iter()
                        .map(|&[from, to, slot, target]| [from + end as u32, to + end as u32, slot, target]),
                );
                end = elements.end;
            }
            let mut expected = tasks().tasks;
            expected.sort_unstable();
            seen.sort_unstable();
            assert_eq!((end, seen), (30, expected), "{len}");
        }
        assert!(Tasks::new(&[0], 5).stretches(7).is_empty());
    }

    #[test]
    fn every_element_is_in_one_task_and_none_is_too_long() {
        let Tasks { tasks, splits, slots } = Tasks::new(&[0, 3, 3, 25, 30], 5);
        assert_eq!(splits, [[2, 4, 5]]);
        assert_eq!(slots, 9);
        let mut seen = [0; 30];
        let mut filled = vec![0; slots];
        for &[start, end, slot, target] in &tasks {
            assert!(end - start <= 5);
            (start..end).for_each(|i| seen[i as usize] += 1);
            filled[slot as usize] += 1;
            assert!(slot == target || (target == 2 && slot >= 4));
        }
        assert_eq!((seen, filled), ([1; 30], vec![1, 1, 0, 1, 1, 1, 1, 1, 1]));
        assert!(tasks.is_sorted_by_key(|task| std::cmp::Reverse(task[1] - task[0])));
    }
}
