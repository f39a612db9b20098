import { expect } from 'vitest';
import { bindAll } from '../testing/bind.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../testing/fidelity-proof.ts';
import { scriptedSpeech } from '../testing/spoken.ts';
import { xttsEndpoints } from './routes.ts';

function world() {
  const { speech, asked } = scriptedSpeech();
  const parts = { taskServices: { speech }, outputFolder: '', settings: { ttsdir: '' } };
  return { endpoints: bindAll(xttsEndpoints(parts), parts), asked };
}

const rows = xttsEndpoints({ outputFolder: '' });
const asks = (request: object): object => ({ request });
const spoken: Readonly<Record<string, Proof>> = {
  text: { send: { text: 'Other.' }, asks: asks({ text: 'Other.' }), refuses: [{ text: 'x '.repeat(51) }] },
  speaker_wav: { send: { speaker_wav: 'rms' }, asks: asks({ voice: 'rms' }) },
  language: { send: { language: 'de' }, asks: asks({ language: 'de' }) },
};
const refusal = (reply: unknown) => expect(reply).toMatchObject({ detail: expect.anything() });

proveFidelity({
  table: tableOf(rows, 'POST /tts_to_audio'),
  base: { text: 'Hello.' },
  ask: asking(world, 'POST', '/tts_to_audio'),
  proofs: {
    ...spoken,
    input: { send: { input: 'Other.' }, asks: asks({ text: 'Other.' }) },
    genkey: { send: { genkey: 'K' }, asks: { requestContext: { genkey: 'K' } } },
    voice: { beside: { speaker_wav: 'awb' }, send: { voice: 'rms' }, asks: asks({ voice: 'rms' }) },
  },
  refusal,
});

proveFidelity({
  table: tableOf(rows, 'GET /tts_stream'),
  base: { text: 'Hello.' },
  ask: asking(world, 'GET', '/tts_stream'),
  proofs: spoken,
  refusal,
});

/** Sets, and then generates speech with the settings. */
proveFidelity({
  table: tableOf(rows, 'POST /set_tts_settings'),
  base: {},
  ask: async (body) => {
    const one = world();
    const set = await asking(() => one, 'POST', '/set_tts_settings')(body);
    const said = await asking(() => one, 'POST', '/tts_to_audio')({ text: 'Hello.' });
    return { ...set, asked: said.asked };
  },
  proofs: { speed: { send: { speed: '1.5' }, asks: asks({ speed: 1.5 }) } },
  refusal,
});

const vitsProofs: Readonly<Record<string, Proof>> = {
  text: { send: { text: 'Other.' }, asks: asks({ text: 'Other.' }), refuses: [{ text: 'x '.repeat(51) }] },
  id: { send: { id: '1' }, asks: asks({ voice: 'rms' }) },
  lang: { send: { lang: 'de' }, asks: asks({ language: 'de' }) },
  length: { send: { length: '2' }, asks: asks({ speed: 0.5 }) },
  format: { send: { format: 'ogg' }, asks: asks({ format: 'opus' }) },
};
for (const method of ['GET', 'POST']) {
  proveFidelity({
    table: { ...tableOf(rows, 'GET /voice/vits'), endpoint: `${method} /voice/vits` },
    base: { text: 'Hello.' },
    ask: asking(world, method, '/voice/vits'),
    proofs: vitsProofs,
    refusal: (reply) => expect(reply).toMatchObject({ status: 'error', message: expect.any(String) }),
  });
}
