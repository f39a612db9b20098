import { serveTasks } from '../../host/task-worker.ts';
import type { Edited, EditTask } from '../host.ts';
import { edited } from './edit.ts';

/** For one edit of the largest picture on the slowest machine; a worker that takes longer is ended. */
const timeoutMs = 60_000;
/** Each may decode a picture of the largest size, so the memory that the worker needs grows with this number. */
const atOnce = 2;

serveTasks<object, object, EditTask, Edited>(async () => ({
  facts: {},
  atOnce,
  run: async ({ edit, pictures }, { tell, watch }) => {
    const bytes = await watch.aside(timeoutMs, () => edited(edit, pictures));
    if (bytes) tell({ bytes });
  },
}));
