import { asAppError } from '../../../core/errors.ts';
import { hiddenModelName } from '../../../core/model-names.ts';
import type { SpeechRequest } from '../../../core/speech.ts';
import { jsonObject } from '../../../http/body.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { keepAliveMs } from '../../../http/keep-alive.ts';
import { commentFrame, dataFrame, sseHeaders } from '../../../http/sse.ts';
import { type DialectParts, noticeHeaders } from '../../dialect.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import { readFields } from '../../fields/table.ts';
import { begunSpeech, noteHeaders, type SoundEvent, streamedSound } from '../../spoken-reply.ts';
import { speechOf, spokenText, wordCount } from '../../spoken-text.ts';
import { ticketFor } from '../../ticket.ts';
import { errorObject, openaiFamily } from '../errors.ts';
import { speechFidelity, speechFields } from './fields.ts';

export type SpeechParts = Pick<DialectParts, 'others'>;

const look = { method: 'GET', match: 'ending', access: 'open', queued: false, family: openaiFamily } as const;

export const speechEndpoints: readonly ModelEndpoint<SpeechParts>[] = [
  {
    method: 'POST',
    match: 'ending',
    path: '/audio/speech',
    access: 'guarded',
    queued: true,
    modelSelection: 'any-name',
    summary: 'A text as speech: mp3, wav, opus, flac or pcm.',
    family: openaiFamily,
    handle: speech,
  },
  {
    ...look,
    path: '/audio/voices',
    summary: 'The voices.',
    handle: async (_, parts) => json({ status: 'ok', voices: await voiceNames(parts) }),
  },
  {
    ...look,
    path: '/audio/models',
    summary: 'The models for speech.',
    handle: ({ authorized }, parts) => json({ models: speechModels(parts, authorized) }),
  },
];

/** The one that speaks, and the one that listens. */
function speechModels({ others = {} }: SpeechParts, authorized: boolean): readonly { readonly id: string }[] {
  const services = [others.speech, others.transcription].flatMap((service) => service ?? []);
  if (!authorized) return services.length > 0 ? [{ id: hiddenModelName }] : [];
  return services.map(({ name }) => ({ id: name }));
}

async function voiceNames({ others }: SpeechParts): Promise<readonly string[]> {
  return (await others?.speech?.voices())?.map(({ name }) => name) ?? [];
}

async function speech(call: Call, parts: SpeechParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const { response_format: format, stream_format, speed, ...fields } = readFields(speechFields, body);
  const service = speechOf(parts);
  const { spoken, notes } = await spokenText(fields, service);
  const request: SpeechRequest = { ...spoken, speed, format, streamed: true };
  const begun = await begunSpeech(service.speak(request, ticketFor(call, fields.genkey)));
  const all = { ...begun, notes: [...notes, ...begun.notes] };
  const headers = noticeHeaders(body, speechFidelity);
  if (stream_format === 'audio') return streamedSound(all, { format, name: 'speech', headers });
  return {
    status: 200,
    headers: { ...sseHeaders, ...noteHeaders(all.notes), ...headers },
    stream: frames(begun.events, wordCount(request.text)),
    keepAlive: { milliseconds: keepAliveMs, filler: commentFrame('speaking') },
  };
}

/** Speech has no tokens here: words go in, and tenths of seconds come out. */
async function* frames(events: AsyncIterable<SoundEvent>, words: number): AsyncGenerator<string> {
  const frame = (value: object) => dataFrame(JSON.stringify(value));
  try {
    for await (const event of events) {
      if (event.type === 'audio') {
        yield frame({ type: 'speech.audio.delta', audio: Buffer.from(event.bytes).toString('base64') });
        continue;
      }
      const output = Math.round(10 * event.seconds);
      const usage = { input_tokens: words, output_tokens: output, total_tokens: words + output };
      yield frame({ type: 'speech.audio.done', usage });
    }
  } catch (error) {
    yield frame({ type: 'error', error: errorObject(asAppError(error)) });
  }
}
