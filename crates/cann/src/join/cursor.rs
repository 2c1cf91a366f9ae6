//! Ways through a table that is sorted by thread and time.

/// The rows of one thread, with a place that follows the questions.
pub(super) struct Cursor<'a> {
    /// The times of the thread's rows.
    times: &'a [u64],
    /// The number of the thread's first row in the table.
    first: usize,
    position: usize,
}

impl<'a> Cursor<'a> {
    /// Before the first row of a thread.
    pub(super) fn new(threads: &[u32], times: &'a [u64], thread: u32) -> Self {
        let first = threads.partition_point(|&t| t < thread);
        let end = threads.partition_point(|&t| t <= thread);
        Self { times: &times[first..end], first, position: 0 }
    }

    /// All rows of the thread.
    pub(super) fn rows_of_thread(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.times.len()
    }

    /// The rows with `begin < time <= end`.
    pub(super) fn rows(&mut self, begin: u64, end: u64) -> std::ops::Range<usize> {
        // Intervals mostly follow one another, so the search starts where the last one ended.
        if self.position > 0 && self.times[self.position - 1] > begin {
            self.position = self.times[..self.position].partition_point(|&time| time <= begin);
        }
        let mut step = 1;
        while self.times.get(self.position + step).is_some_and(|&time| time <= begin) {
            self.position += step;
            step *= 2;
        }
        let limit = (self.position + step + 1).min(self.times.len());
        self.position += self.times[self.position..limit].partition_point(|&time| time <= begin);
        let count = self.times[self.position..].iter().take_while(|&&time| time <= end).count();
        self.first + self.position..self.first + self.position + count
    }
}

/// The runs of equal threads in a sorted column.
pub(super) fn thread_ranges(threads: &[u32]) -> Vec<(usize, usize)> {
    let mut end = 0;
    let run = |run: &[u32]| {
        end += run.len();
        (end - run.len(), end)
    };
    threads.chunk_by(|a, b| a == b).map(run).collect()
}
