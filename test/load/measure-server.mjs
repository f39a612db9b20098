// Loaded into the server before its first line (`node --import`): writes the delays of its event loop, and the memory that is in
// use after a garbage collection, to a file, for load tests.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const collectionEvery = 15;

const resolution = 10;
const histogram = monitorEventLoopDelay({ resolution });
histogram.enable();
// The histogram counts the interval between two of its own ticks.
const milliseconds = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolution);
let seconds = 0;
let usedMegabytes = 0;
setInterval(() => {
  const p99 = milliseconds(histogram.percentile(99));
  if (seconds++ % collectionEvery === 0) {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    usedMegabytes = (heapUsed + external) / 2 ** 20;
  }
  writeFileSync(join(tmpdir(), `parley-test-server-${process.pid}.json`), JSON.stringify({ p99, usedMegabytes }));
  histogram.reset();
}, 1000).unref();
