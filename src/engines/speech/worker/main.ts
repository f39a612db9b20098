import type { SpeechEvent, SpeechFacts, SpeechRequest } from '../../../core/speech.ts';
import { serveTasks } from '../../host/task-worker.ts';
import { openFlite } from '../flite/flite.ts';
import type { SpeechOptions } from '../host.ts';
import { openKokoro } from '../kokoro/kokoro.ts';
import { openSherpa } from '../sherpa/sherpa.ts';
import { EncoderCache, type Synthesiser, speak } from '../speak.ts';

/** Speech worker process: one model, one request at a time. */
serveTasks<SpeechOptions, SpeechFacts, SpeechRequest, SpeechEvent>(async ({ name, engine }) => {
  const synthesiser = await open(engine);
  const encoders = new EncoderCache();
  return {
    facts: { name, voices: synthesiser.voices },
    run: (request, tools) => speak({ synthesiser, encoders }, request, tools),
  };
});

function open(engine: SpeechOptions['engine']): Promise<Synthesiser> {
  switch (engine.type) {
    case 'flite':
      return openFlite(engine);
    case 'sherpa':
      return openSherpa(engine);
    case 'kokoro':
      return openKokoro(engine);
  }
}
