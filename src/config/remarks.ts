import { type FlagKey, flagOf, inUse, type Settings } from './flags.ts';

/** With these the original runs no requests together, and so do we unless told otherwise. */
const keepAlone: readonly FlagKey[] = ['smartcontext', 'smartcache', 'draftmodel', 'usemtp', 'enableguidance'];

/** What people should know at the start: flags that are without effect beside others, or without them. */
export function remarks(settings: Settings): string[] {
  const { parallelrequests, batchall } = settings;
  if (parallelrequests <= 1) return batchall ? ['--batchall has no effect without --parallelrequests.'] : [];
  return [...tooFewPlaces(settings), ...keptAlone(settings)];
}

function tooFewPlaces({ parallelrequests, multiuser }: Settings): string[] {
  if (multiuser < 2 || multiuser >= parallelrequests) return [];
  return [
    `--multiuser takes in ${multiuser} requests at once, so --parallelrequests never runs more than those together.`,
  ];
}

function keptAlone(settings: Settings): string[] {
  const blocking = keepAlone.filter((key) => inUse(key, settings[key])).map(nameOf);
  if (settings.batchall || blocking.length === 0) return [];
  const names = blocking.join(' and ');
  return [
    `--parallelrequests has no effect beside ${names}: every request runs alone. With --batchall they run together.`,
  ];
}

const nameOf = (key: FlagKey): string => flagOf(key).names[0];
