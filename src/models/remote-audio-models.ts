import type { Settings } from '../config/flags.ts';
import { identifySound, RemoteSpeech, RemoteTranscription } from '../engines/remote/audio.ts';
import { EngineLifecycle } from './lifecycle.ts';
import { backendPool, type Console, remoteModel } from './remote-pool.ts';
import { remoteSpec, type SpeechModel, type TranscriptionModel } from './task-model.ts';

/** `for=audio` is both. */
const backends = (settings: Settings, task: 'speech' | 'transcription') =>
  remoteModel(settings, task) ?? remoteModel(settings, 'audio');

/** Remote backends for speech (`for=speech` or `for=audio`). */
export function remoteSpeech(settings: Settings, terminal: Console): SpeechModel | undefined {
  const remote = backends(settings, 'speech');
  if (!remote) return undefined;
  const { name, model, addresses, atOnce } = remote;
  const pool = backendPool(
    'speech',
    { addresses, identify: (one) => identifySound(one, model ?? 'default') },
    terminal,
  );
  const engine = new RemoteSpeech(pool, { name, model });
  const spec = { name, kind: 'speech', ...remoteSpec, make: () => new EngineLifecycle(engine) };
  return { given: true, atOnce, maxWords: settings.ttsmaxlen, voices: () => engine.voices(), spec };
}

/** Remote backends for transcription (`for=transcription` or `for=audio`). */
export function remoteTranscription(settings: Settings, terminal: Console): TranscriptionModel | undefined {
  const remote = backends(settings, 'transcription');
  if (!remote) return undefined;
  const { name, model, addresses, atOnce } = remote;
  const identify = (one: Parameters<typeof identifySound>[0]) => identifySound(one, model ?? 'default');
  const make = () =>
    new EngineLifecycle(
      new RemoteTranscription(backendPool('transcription', { addresses, identify }, terminal), { name, model }),
    );
  return { given: true, atOnce, spec: { name, kind: 'transcription', ...remoteSpec, make } };
}
