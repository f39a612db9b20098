import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import koffi from 'koffi';
import type { Sampling } from '../../../../core/sampling-fields.ts';
import { Sampler, type SamplerOptions } from '../../../../sampling/sampler.ts';
import { controlIndex, failed, field, rowFields, type SharedRows } from './shared-rows.ts';

/** Messages to a sampler thread. They are read at the beginning of a step, in the order of sending. */
export type ToThread =
  | {
      readonly type: 'add';
      readonly id: number;
      readonly settings: Sampling;
      readonly options: SamplerOptions;
      /** The tokens of the sequence, in shared memory. */
      readonly history: Int32Array;
    }
  | { readonly type: 'remove'; readonly id: number }
  /** For the next token only. */
  | { readonly type: 'forbid'; readonly id: number; readonly tokens: readonly number[] };

export interface ThreadData {
  readonly port: MessagePort;
  readonly shared: SharedRows;
  readonly vocabularySize: number;
}

interface Running {
  readonly sampler: Sampler;
  readonly history: Int32Array;
  forbidden: readonly number[];
}

const { port, shared, vocabularySize } = workerData as ThreadData;
const { step, control, rows, addresses } = shared;
const running = new Map<number, Running>();
/** The library reuses its output buffer, so there are few addresses. */
const views = new Map<bigint, Float32Array>();

function receive(message: ToThread): void {
  if (message.type === 'add') {
    const { id, settings, options, history } = message;
    running.set(id, { sampler: new Sampler(settings, options), history, forbidden: [] });
  } else if (message.type === 'remove') {
    running.delete(message.id);
  } else {
    const one = running.get(message.id);
    if (one) one.forbidden = message.tokens;
  }
}

function logitsAt(address: bigint): Float32Array {
  let view = views.get(address);
  if (!view) {
    view = new Float32Array(koffi.view(address, vocabularySize * 4) as ArrayBuffer);
    views.set(address, view);
  }
  return view;
}

function choose(row: number): number {
  const at = row * rowFields;
  const one = running.get(rows[at + field.sampler] as number);
  if (!one) return failed;
  const { forbidden } = one;
  one.forbidden = [];
  return one.sampler.pick(
    logitsAt(addresses[row] as bigint),
    one.history,
    rows[at + field.length] as number,
    forbidden,
  );
}

let done = 0;
Atomics.store(control, controlIndex.ready, 1);
// The thread ends with its process.
for (;;) {
  const seen = Atomics.load(step, 0);
  const count = (Atomics.load(control, controlIndex.submitted) - done) | 0;
  // Messages come before the row that needs them.
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    receive(next.message as ToThread);
  for (let row = 0; row < count; row += 1) {
    let token: number = failed;
    try {
      token = choose(row);
    } catch {
      // The main thread reports it for the request.
    }
    rows[row * rowFields + field.token] = token;
    done = (done + 1) | 0;
    Atomics.store(control, controlIndex.done, done);
    if (Atomics.load(control, controlIndex.waiting) === 1) Atomics.notify(control, controlIndex.done);
  }
  Atomics.wait(step, 0, seen);
}
