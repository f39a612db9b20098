import { type SpeechFormat, type SpeechRequest, speechFormats } from '../../core/speech.ts';
import { jsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { looseFlag, looseNumber } from '../fields/loose.ts';
import { clamp, described, orElse, type Read } from '../fields/readers.ts';
import { fidelityOf, honoured, ignored, readFields } from '../fields/table.ts';
import { spokenFields } from '../spoken-fields.ts';
import { begunSpeech, wholeSound } from '../spoken-reply.ts';
import { paces, speechOf, spokenText } from '../spoken-text.ts';
import { ticketFor } from '../ticket.ts';
import { nativeFamily } from './errors.ts';

export type NativeSpeechParts = Pick<DialectParts, 'others'>;

export const nativeSpeechEndpoint: ModelEndpoint<NativeSpeechParts> = {
  method: 'POST',
  match: 'ending',
  path: '/api/extra/tts',
  access: 'guarded',
  queued: true,
  modelSelection: 'any-name',
  summary: 'A text as speech: wav unless told otherwise.',
  family: nativeFamily,
  handle: speech,
};

/** Sent whole: the clients of this family decode it as one file. */
async function speech(call: Call, parts: NativeSpeechParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const { use_mp3, response_format, speed: sent, ...fields } = readFields(nativeSpeechFields, body);
  const service = speechOf(parts);
  const { spoken, notes } = await spokenText(fields, service);
  const format = use_mp3 ? 'mp3' : response_format;
  const speed = clamp(sent, paces.least, paces.most);
  const request: SpeechRequest = { ...spoken, speed, format, streamed: false };
  const begun = await begunSpeech(service.speak(request, ticketFor(call, fields.genkey)));
  const headers = noticeHeaders(body, nativeSpeechFidelity);
  return wholeSound({ ...begun, notes: [...notes, ...begun.notes] }, { format, name: 'output', headers });
}

/** Formats that nobody knows are WAV in this family. */
const readFormat: Read<SpeechFormat> = described(
  { enum: speechFormats },
  (value) => speechFormats.find((format) => format === value) ?? 'wav',
);

const nativeSpeechFields = {
  ...spokenFields,
  response_format: honoured(orElse(readFormat, 'wav'), 'wav, mp3, opus, flac and pcm; wav for all others.'),
  use_mp3: honoured(orElse(looseFlag, false)),
  speed: honoured(orElse(looseNumber, 1), 'Moved into 0.25 to 4.'),
  model: ignored(),
  stream: ignored('The file is sent whole.'),
};

export const nativeSpeechFidelity = fidelityOf('Native text API', 'POST /api/extra/tts', nativeSpeechFields);
