import { AppError } from '../../../../core/errors.ts';
import type { Medium } from '../../../../core/request.ts';
import type { ReadMedium } from './medium.ts';
import type { Exclusively, Projector } from './projector.ts';

export interface Reading {
  readonly exclusively: Exclusively;
  /** Nobody waits for the result any more. */
  readonly stopped: () => boolean;
}

/** Reads all media of a request; undefined when it was stopped on the way. Throws what is wrong with one. */
export async function readMedia(
  projector: Projector | undefined,
  media: readonly Medium[],
  { exclusively, stopped }: Reading,
): Promise<readonly ReadMedium[] | undefined> {
  for (const { kind } of media) if (!projector?.inputs[kind]) throw notTaken(kind, projector !== undefined);
  const read: ReadMedium[] = [];
  const count = { image: 0, audio: 0 };
  for (const medium of media) {
    if (stopped()) return undefined;
    count[medium.kind] += 1;
    read.push(await (projector as Projector).read(medium, count[medium.kind], exclusively));
  }
  return stopped() ? undefined : read;
}

function notTaken(kind: Medium['kind'], hasProjector: boolean): AppError {
  return new AppError('unsupported', {
    feature: kind === 'image' ? 'Image input' : 'Audio input',
    instead: hasProjector
      ? 'the projector of the loaded model does not take it'
      : 'the loaded model has no projector for it; start the server with --mmproj FILE',
  });
}
