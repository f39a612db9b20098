import { type FlagKey, flagOf, inUse, type Settings } from './flags.ts';

/** With these the original runs no requests together, and so do we unless told otherwise. */
const keepAlone: readonly FlagKey[] = ['smartcontext', 'smartcache', 'draftmodel', 'usemtp', 'enableguidance'];

/** They speak of the model of `--sdmodel`, and say nothing to others that draw. */
const ofImageModel: readonly FlagKey[] = [
  'sdllm',
  'sdclip1',
  'sdclip2',
  'sdvae',
  'sdupscaler',
  'sdlora',
  'sdloramult',
  'sdquant',
  'sdtiledvae',
  'sdclipdevice',
  'sdvaedevice',
  'sdmaingpu',
  'sdoffloadcpu',
  'sdflashattention',
  'sdconvdirect',
  'sdvramlimit',
];

/** What people should know at the start: flags that are without effect beside others, or without them. */
export function remarks(settings: Settings): string[] {
  return [...besideBatches(settings), ...withoutImageModel(settings)];
}

function besideBatches(settings: Settings): string[] {
  const { parallelrequests, batchall } = settings;
  if (parallelrequests <= 1) return batchall ? ['--batchall has no effect without --parallelrequests.'] : [];
  return [...tooFewPlaces(settings), ...keptAlone(settings)];
}

function withoutImageModel(settings: Settings): string[] {
  if (settings.sdmodel !== '') return [];
  const idle = ofImageModel.filter((key) => inUse(key, settings[key])).map(nameOf);
  if (idle.length === 0) return [];
  return [`${idle.join(' and ')} ${idle.length === 1 ? 'has' : 'have'} no effect without --sdmodel.`];
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
