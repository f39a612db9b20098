import { asAppError } from '../../../core/errors.ts';
import { hiddenModelName } from '../../../core/model-names.ts';
import { type SpeechFormat, speechFormats } from '../../../core/speech.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { commentFrame, dataFrame } from '../../../http/sse.ts';
import { information } from '../../access.ts';
import { type DialectContext, eventStream, ignoredHeader } from '../../dialect.ts';
import { bodyOf, type ModelEndpoint } from '../../endpoint.ts';
import * as f from '../../fields.ts';
import { noteHeaders, type SoundEvent, speak, streamedSound } from '../../spoken-reply.ts';
import { speedRange, spokenFields, wordCount } from '../../spoken-text.ts';
import { audioRows, audioTask, errorObject, unsupportedField } from '../errors.ts';

const readFormat: f.Read<SpeechFormat> = f.described({ enum: speechFormats }, (value, path) => {
  const name = typeof value === 'string' ? value.trim().toLowerCase() : '';
  const known = value === '' ? 'mp3' : speechFormats.find((format) => format === name);
  if (known) return known;
  const instead = `${JSON.stringify(value)} cannot be made here; mp3, wav, opus, flac and pcm are possible`;
  throw unsupportedField(path, instead, 'unsupported_value');
});

const readSpeed: f.Read<number> = f.described(
  { type: 'number', minimum: speedRange.min, maximum: speedRange.max },
  (value, path) => {
    const speed = f.looseNumber(value, path);
    if (speed >= speedRange.min && speed <= speedRange.max) return speed;
    throw f.wrong(path, `a number from ${speedRange.min} to ${speedRange.max}`);
  },
);

const readStreamFormat = f.orElse(f.oneOf('audio', 'sse'), 'audio');

const speechFields = {
  ...spokenFields,
  model: f.withSchema(f.textSchema, f.aside('approximated', 'Any name: the loaded voice model is used.')),
  response_format: f.honoured(f.orElse(readFormat, 'mp3'), 'mp3, wav, opus, flac and pcm; aac is refused.'),
  speed: f.honoured(f.orElse(readSpeed, 1), '0.25 to 4; others are refused.'),
  stream_format: f.honoured(readStreamFormat, 'usage: words, and tenths of a second of speech.'),
  instructions: f.approximated(f.optionalText, 'Another name of instruction, which wins.'),
  lang_code: f.approximated(f.optionalText, 'Another name of language.'),
  stream: f.ignored('Sound is always streamed.'),
};

type SpeechContext = Pick<DialectContext, 'taskServices'>;

const listing = { ...information, method: 'GET', queued: false } as const;

export const speechEndpoints: readonly ModelEndpoint<SpeechContext>[] = [
  ...audioRows('speech', 'A text as speech: mp3, wav, opus, flac or pcm.', speech, {
    ...audioTask,
    fields: speechFields,
    response: 'speech',
  }),
  ...audioRows('voices', 'The voices.', voiceList, { ...listing, response: 'voices' }),
  ...audioRows('models', 'The models for speech.', modelList, { ...listing, response: 'speechModels' }),
];

async function voiceList(_: Call, { taskServices }: SpeechContext): Promise<Reply> {
  const voices = (await taskServices?.speech?.voices())?.map(({ name }) => name) ?? [];
  return json({ status: 'ok', voices });
}

function modelList({ authorized }: Call, { taskServices = {} }: SpeechContext): Reply {
  const { speech, transcription } = taskServices;
  const languages = transcription?.languages?.();
  const models = [
    ...(speech ? [{ id: speech.name }] : []),
    ...(transcription ? [{ id: transcription.name, ...(languages && { languages }) }] : []),
  ];
  return json({ models: authorized ? models : models.slice(0, 1).map(() => ({ id: hiddenModelName })) });
}

async function speech(call: Call, context: SpeechContext): Promise<Reply> {
  const body = await bodyOf(call);
  const { response_format: format, stream_format, speed, ...fields } = f.readFields(speechFields, body);
  const begun = await speak(call, fields, context, { speed, format, streamed: true });
  const headers = ignoredHeader(speechFields, body);
  if (stream_format === 'audio') return streamedSound(begun, { format, name: 'speech', headers });
  const stream = frames(begun.events, wordCount(begun.text));
  return eventStream(stream, { ...noteHeaders(begun.notes), ...headers }, commentFrame('speaking'));
}

/** Speech has no tokens: the usage counts words of input and tenths of seconds of output. */
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
