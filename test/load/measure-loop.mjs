// Loaded into the server before its first line (`node --import`): writes the delays of its event loop to a file, for load tests.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const resolution = 10;
const histogram = monitorEventLoopDelay({ resolution });
histogram.enable();
// The histogram counts the interval between two of its own ticks.
const milliseconds = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolution);
setInterval(() => {
  const delay = { p50: milliseconds(histogram.percentile(50)), p99: milliseconds(histogram.percentile(99)) };
  writeFileSync(join(tmpdir(), `parley-test-loop-${process.pid}.json`), JSON.stringify(delay));
  histogram.reset();
}, 1000).unref();
