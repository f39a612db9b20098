import type { EndpointFidelity } from '../../core/fidelity.ts';
import { type SpeechFormat, speechFormats } from '../../core/speech.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call, Endpoint, Reply } from '../../http/call.ts';
import { clamp, readFlag, readNumber } from '../controls/fields.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import { speechNotes } from '../speech-notes.ts';
import { begunSpeech, wholeSound } from '../spoken-reply.ts';
import { paces, readSpokenText, speechOf } from '../spoken-text.ts';
import { ticketFor } from '../ticket.ts';
import { nativeFamily } from './errors.ts';

export type NativeSpeechParts = Pick<DialectParts, 'others'>;

export function nativeSpeechEndpoints(parts: NativeSpeechParts): Endpoint[] {
  return [
    {
      method: 'POST',
      match: 'ending',
      path: '/api/extra/tts',
      access: 'guarded',
      queued: true,
      beside: true,
      summary: 'A text as speech: wav unless told otherwise.',
      family: nativeFamily,
      handle: (call) => speech(call, parts),
    },
  ];
}

/** Sent whole: the clients of this family decode it as one file. */
async function speech(call: Call, parts: NativeSpeechParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const service = speechOf(parts);
  const format = readFormat(body);
  const speed = clamp(readNumber(body.speed, 1), paces.least, paces.most);
  const { spoken, notes } = await readSpokenText(body, service);
  const begun = await begunSpeech(service.speak({ ...spoken, speed, format, streamed: false }, ticketFor(call, body)));
  const headers = noticeHeaders(body, nativeSpeechFidelity);
  return wholeSound({ ...begun, notes: [...notes, ...begun.notes] }, { format, name: 'output', headers });
}

/** Formats that nobody knows are WAV in this family. */
function readFormat(body: JsonObject): SpeechFormat {
  if (readFlag(body, 'use_mp3', false)) return 'mp3';
  return speechFormats.find((format) => format === body.response_format) ?? 'wav';
}

export const nativeSpeechFidelity: EndpointFidelity = {
  dialect: 'Native text API',
  endpoint: 'POST /api/extra/tts',
  fields: [
    { field: 'input', handling: 'honoured', note: speechNotes.text },
    { field: 'text', handling: 'honoured', note: 'Another name of input.' },
    { field: 'voice', handling: 'approximated', note: speechNotes.voice },
    { field: 'speaker_wav', handling: 'honoured', note: 'Another name of voice.' },
    { field: 'response_format', handling: 'honoured', note: 'wav, mp3, opus, flac and pcm; wav for all others.' },
    { field: 'use_mp3', handling: 'honoured' },
    { field: 'speed', handling: 'honoured', note: 'Moved into 0.25 to 4.' },
    { field: 'instruction', handling: 'approximated', note: speechNotes.instruction },
    { field: 'language', handling: 'approximated', note: speechNotes.language },
    { field: 'seed', handling: 'approximated', note: speechNotes.seed },
    { field: 'genkey', handling: 'honoured' },
    { field: 'speaker_json', handling: 'ignored', note: 'For OuteTTS, which is not possible yet.' },
    { field: 'model', handling: 'ignored' },
    { field: 'stream', handling: 'ignored', note: 'The file is sent whole.' },
  ],
};
