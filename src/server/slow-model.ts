import type { HubFileChoice, HubFiles } from '../core/models-view.ts';
import { byteSize } from '../core/readable.ts';
import type { TextObserver } from '../queue/text.ts';

/** Tokens per second below which a model is too slow to talk to. */
const minSpeed = 3;
/** Shorter replies say little about the speed. */
const minTokens = 16;

/** Tells the speed of the first reply of a model, if that is too slow. */
export function firstReplySpeed(slow: (tokensPerSecond: number) => void): TextObserver {
  let isKnown = false;
  return {
    event: (event) => {
      if (event.type !== 'finish' || isKnown || event.usage.completionTokens < minTokens) return;
      isKnown = true;
      const speed = (event.usage.completionTokens * 1000) / event.timings.generationMs;
      if (speed < minSpeed) slow(speed);
    },
  };
}

interface SlowModel {
  readonly name: string;
  readonly tokensPerSecond: number;
  readonly bytes: number;
  /** Its repository on the hub, if it was downloaded from there. */
  readonly repository: string | undefined;
  readonly files: (repository: string) => Promise<HubFiles | undefined>;
}

/** Which smaller file would be faster, in a line. */
export async function slowModelAdvice(model: SlowModel): Promise<string> {
  const { name, tokensPerSecond, bytes, repository } = model;
  const finding = `${name} writes ${tokensPerSecond.toFixed(1)} tokens a second on this computer.`;
  const listed = repository === undefined ? undefined : await model.files(repository).catch(() => undefined);
  const file = listed && fasterFile(listed.files, bytes, tokensPerSecond);
  if (!file) return `${finding} A smaller model would be faster: parley search lists those that suit this computer.`;
  const sizes = `${byteSize(file.bytes)} instead of ${byteSize(bytes)}`;
  return `${finding} Its file ${file.name} (${sizes}) would be faster: parley pull ${repository}:${file.name}`;
}

/** Below three bits models lose too much; a smaller model is better. */
const tooCoarse = /(^|-)(I?Q[12]|TQ[12])_/;

/** Speed is inversely proportional to size: the largest file that is fast enough, or else the smallest. */
function fasterFile(files: readonly HubFileChoice[], bytes: number, speed: number): HubFileChoice | undefined {
  const smaller = files
    .filter((file) => file.bytes > 0 && file.bytes < bytes * 0.9 && !tooCoarse.test(file.name))
    .sort((a, b) => b.bytes - a.bytes);
  return smaller.find((file) => file.bytes <= (bytes * speed) / minSpeed) ?? smaller.at(-1);
}
