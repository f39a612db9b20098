import type { SpeechRequest } from '../../core/speech.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { clamp } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { begunSpeech, wholeSound } from '../spoken-reply.ts';
import { paces, speechOf, spokenText } from '../spoken-text.ts';
import { ticketFor } from '../ticket.ts';
import { vitsFamily } from './errors.ts';
import { vitsFidelity, vitsFields } from './vits-fields.ts';

type VitsParts = Pick<DialectParts, 'others'>;

const look = { method: 'GET', match: 'ending', access: 'open', queued: false, family: vitsFamily } as const;
const speak = {
  match: 'ending',
  access: 'guarded',
  queued: true,
  modelSelection: 'any-name',
  family: vitsFamily,
} as const;
const path = '/voice/vits';
const summary = 'A text as speech, by the number of a voice.';

export const vitsEndpoints: readonly ModelEndpoint<VitsParts>[] = [
  {
    ...look,
    path: '/voice/speakers',
    summary: 'The voices by their numbers.',
    handle: async (_, parts) => json({ VITS: await numbered(parts), 'W2V2-VITS': [], 'BERT-VITS2': [] }),
  },
  { ...look, path: '/voice/check', summary: 'Answers where there is a voice.', handle: (_, parts) => check(parts) },
  {
    ...speak,
    method: 'GET',
    path,
    summary,
    handle: (call, parts) => vits(call, Object.fromEntries(call.query), parts),
  },
  {
    ...speak,
    method: 'POST',
    path,
    form: { files: 0 },
    summary,
    handle: async (call, parts) => vits(call, await fieldsOf(call), parts),
  },
];

async function numbered({ others }: VitsParts): Promise<readonly object[]> {
  const voices = (await others?.speech?.voices()) ?? [];
  return voices.map(({ name, language }, id) => ({ id, lang: [language || 'en'], name }));
}

function check(parts: VitsParts): Reply {
  speechOf(parts);
  return json({ status: 'success' });
}

async function vits(call: Call, sent: JsonObject, parts: VitsParts): Promise<Reply> {
  const { id, lang, length, format, text } = readFields(vitsFields, sent);
  const service = speechOf(parts);
  const { spoken, notes } = await spokenText({ text, voice: voiceAt(id), language: lang }, service);
  const request: SpeechRequest = { ...spoken, speed: paceOf(length), format, streamed: false };
  const begun = await begunSpeech(service.speak(request, ticketFor(call, '')));
  const headers = noticeHeaders(sent, vitsFidelity);
  return wholeSound({ ...begun, notes: [...notes, ...begun.notes] }, { format, name: 'output', headers });
}

/** The number of a voice here counts from 0, and its position in the list from 1. */
function voiceAt(id: string): string {
  return /^\d+$/.test(id) ? String(Number(id) + 1) : id;
}

/** Told as how much longer it takes. */
function paceOf(stretch: number): number {
  return stretch > 0 ? clamp(1 / stretch, paces.least, paces.most) : 1;
}

/** A form in either of its two encodings, or JSON. */
async function fieldsOf({ body, form, headers, signal }: Call): Promise<JsonObject> {
  if (form) return Object.fromEntries([...form.fields].map(([name, values]) => [name, values[0]]));
  if (/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) {
    return Object.fromEntries(new URLSearchParams(body.toString('utf8')));
  }
  return jsonObject(body, { empty: 'refuse', signal });
}
