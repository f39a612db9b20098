import type { Terminal } from '../observe/terminal.ts';
import type { OtherModels } from './other-models.ts';

export function remoteImageModel(
  _words: readonly string[],
  _terminal: Pick<Terminal, 'line'>,
): NonNullable<OtherModels['image']> {
  throw new Error('not yet');
}
