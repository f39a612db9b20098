import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { OnnxSession } from '../../onnx/session.ts';
import { sketch } from '../facts.ts';
import type { FlowNetwork } from '../flow/draw.ts';
import type { ImageOptions } from '../host.ts';

/** Does some work while somebody looks that it comes to an end. */
export type Watched = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Throws one sentence where the file is not the one that it must be. */
export async function openSketch({ path, threads }: ImageOptions): Promise<OnnxSession> {
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sketch.sha256) {
    throw new Error(`${path} is damaged; install Parley anew`);
  }
  return OnnxSession.open(bytes, { threads });
}

/** A run ends in the middle when the signal fires. */
export function sketchNetwork(
  session: Pick<OnnxSession, 'run'>,
  signal: AbortSignal,
  watched: Watched = (work) => work(),
): FlowNetwork {
  const { side, conditionLength } = sketch;
  return async ({ x, time, conditions }) => {
    const rows = conditions.length;
    const told = new Float32Array(rows * conditionLength);
    for (const [row, condition] of conditions.entries()) told.set(condition, row * conditionLength);
    const inputs = {
      x: { data: x, shape: [rows, 3, side, side] },
      t: { data: new Float32Array(rows).fill(time), shape: [rows] },
      cond: { data: told, shape: [rows, conditionLength] },
    };
    const { velocity } = await watched(() => session.run(inputs, signal));
    if (!velocity) throw new Error('the network gave no velocity');
    return velocity.data;
  };
}
