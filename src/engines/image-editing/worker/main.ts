import { serveTasks } from '../../host/task-worker.ts';
import type { Edited, EditTask } from '../host.ts';
import { edited } from './edit.ts';

/** For one edit of the largest image on the slowest machine; a worker that takes longer is ended. */
const timeoutMs = 60_000;
/** Each may decode an image of the largest size, so the memory that the worker needs grows with this number. */
const concurrency = 2;

serveTasks<object, object, EditTask, Edited>(async () => ({
  facts: {},
  concurrency,
  run: async ({ edit, images }, { emit, watch }) => {
    const bytes = await watch.aside(timeoutMs, () => edited(edit, images));
    if (bytes) emit({ bytes });
  },
}));
