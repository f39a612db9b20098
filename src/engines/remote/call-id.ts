import { randomBytes } from 'node:crypto';

/** For calls of engines that give them no id. */
export function randomCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}
