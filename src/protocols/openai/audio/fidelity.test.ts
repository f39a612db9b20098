import { expect } from 'vitest';
import { bindAll } from '../../testing/bind.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../../testing/fidelity-proof.ts';
import { scriptedSpeech } from '../../testing/spoken.ts';
import { speechEndpoints } from './speech.ts';

function world() {
  const { speech, asked } = scriptedSpeech();
  return { endpoints: bindAll(speechEndpoints, { taskServices: { speech } }), asked };
}

const asks = (request: object): object => ({ request });
const proofs: Readonly<Record<string, Proof>> = {
  input: { send: { input: 'Other.' }, asks: asks({ text: 'Other.' }), refuses: [{ input: 'x '.repeat(51) }] },
  text: { send: { input: undefined, text: 'Other.' }, asks: asks({ text: 'Other.' }) },
  model: { send: { model: 'tts-1-hd' }, same: true },
  voice: { send: { voice: 'onyx' }, asks: asks({ voice: 'rms' }) },
  speaker_wav: { send: { speaker_wav: 'rms' }, asks: asks({ voice: 'rms' }) },
  response_format: {
    send: { response_format: 'flac' },
    asks: asks({ format: 'flac' }),
    refuses: [{ response_format: 'aac' }],
  },
  speed: { send: { speed: 2 }, asks: asks({ speed: 2 }), refuses: [{ speed: 5 }] },
  stream_format: { send: { stream_format: 'sse' }, tells: /speech\.audio\.done/ },
  instructions: { send: { instructions: 'sing' }, asks: asks({ instruction: 'sing' }) },
  instruction: { send: { instruction: 'sing' }, asks: asks({ instruction: 'sing' }) },
  language: { send: { language: 'de' }, asks: asks({ language: 'de' }) },
  lang_code: { send: { lang_code: 'de' }, asks: asks({ language: 'de' }) },
  seed: { send: { seed: 7 }, asks: asks({ seed: 7 }) },
  genkey: { send: { genkey: 'K' }, asks: { requestContext: { genkey: 'K' } } },
};

proveFidelity({
  table: tableOf(speechEndpoints, 'POST /v1/audio/speech'),
  base: { input: 'Hello.' },
  ask: asking(world, 'POST', '/v1/audio/speech'),
  proofs,
  refusal: (reply) => expect(reply).toMatchObject({ error: { message: expect.any(String) } }),
});
