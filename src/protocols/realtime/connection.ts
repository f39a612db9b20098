import { setImmediate } from 'node:timers/promises';
import { asAppError } from '../../core/errors.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { LiveSocket, SocketCall, SocketWork, WorkOptions } from '../../http/web-socket.ts';
import type { DialectModel } from '../dialect.ts';
import { transcriptionOf } from '../recording.ts';
import { clientOf } from '../request-context.ts';
import { decodeEvent, type Envelope, readEnvelope } from './decode.ts';
import { encodeEvent, type ProtocolVersion, type ServerEvent } from './encode.ts';
import { initialSettings, type SessionSettings } from './fields.ts';
import { respond } from './respond.ts';
import type { SplitSentences } from './sentence-stream.ts';
import { type Listening, type ResponseJob, Session, type SessionWork, type Transcript } from './session.ts';

/** A model that is in use until it is released. */
interface ModelUse {
  readonly context: DialectModel;
  release(): void;
}

export interface RealtimeServices {
  readonly newId: (prefix: string) => string;
  /** The model of this name, or the default one if no model has it. */
  readonly useModel: (name: string, signal: AbortSignal) => Promise<ModelUse>;
  readonly splitSentences: SplitSentences;
}

interface RealtimeContext extends RealtimeServices {
  /** Reserves the memory of audio that waits to be transcribed, for a new connection. */
  readonly holdAudio: () => SessionWork['hold'];
}

/** Longer audio is taken in pieces, so that other requests are served in between: about a second. */
const pieceBytes = 2 ** 16;

export function openConnection(call: SocketCall, socket: LiveSocket, deps: RealtimeContext): void {
  const { newId } = deps;
  const sessionId = newId('sess_');
  const options = { version: versionOf(call), sessionId, conversationId: newId('conv_'), newId };
  const send = (event: ServerEvent): void => {
    const message = encodeEvent(event, options);
    if (message !== undefined) socket.send(message);
  };
  const type = call.query.get('intent') === 'transcription' ? 'transcription' : 'realtime';
  const session = new Session({
    settings: initialSettings(call.query.get('model') ?? '', type),
    conversationId: options.conversationId,
    newId,
    send,
    work: engines(call, socket, deps, sessionId),
  });
  socket.signal.addEventListener('abort', () => session.close(socket.signal.reason), { once: true });
  socket.onMessage(async (message) => {
    let envelope: Envelope | undefined;
    try {
      envelope = readEnvelope(message);
      const event = decodeEvent(envelope);
      if (event.type !== 'input_audio_buffer.append' || event.audio.length <= pieceBytes) {
        session.receive(event);
        return;
      }
      for (let at = 0; at < event.audio.length && !socket.signal.aborted; at += pieceBytes) {
        session.receive({ type: event.type, audio: event.audio.subarray(at, at + pieceBytes) });
        await setImmediate();
      }
    } catch (error) {
      send({ type: 'error', error: asAppError(error), about: envelope?.eventId });
    }
  });
  session.begin();
  void warm(socket, deps, call.query.get('model') ?? '');
}

/** The beta has a header, and in pages a subprotocol. */
function versionOf({ headers }: Pick<SocketCall, 'headers'>): ProtocolVersion {
  const names = `${headers['openai-beta'] ?? ''},${headers['sec-websocket-protocol'] ?? ''}`;
  return /realtime[=-]v1/.test(names) ? 'beta' : 'ga';
}

/** Loads what the conversation will need, so that its first turn does not wait for it. */
async function warm({ signal }: LiveSocket, { useModel }: RealtimeContext, model: string): Promise<void> {
  try {
    const { context, release } = await useModel(model, signal);
    try {
      const { speech, transcription } = context.taskServices ?? {};
      await Promise.all([speech?.warm?.(signal), transcription?.warm?.(signal)]);
    } finally {
      release();
    }
  } catch {
    // The first turn reports what is wrong.
  }
}

/** The engines of a connection, through their queues: one connection is one client, and each piece of its work a request. */
function engines(call: SocketCall, socket: LiveSocket, deps: RealtimeContext, sessionId: string): SessionWork {
  const { useModel, splitSentences } = deps;
  const hold = deps.holdAudio();
  /** Whether audio was admitted that no response has answered yet. */
  let answersAudio = false;

  const begin = async (options?: WorkOptions): Promise<SocketWork> => {
    try {
      return await call.begin(options);
    } catch (error) {
      // The session reports the error first.
      if (asAppError(error).code === 'unauthorized') void setImmediate().then(() => socket.close(1008, keyInvalid));
      throw error;
    }
  };
  const requestContextOf = ({ id, watch, key }: SocketWork, signal: AbortSignal): RequestContext => ({
    genkey: '',
    client: clientOf({ remoteAddress: call.remoteAddress, ...(key && { key }) }),
    part: sessionId,
    weight: key?.weight ?? 1,
    signal,
    requestId: id,
    watch,
    sender: { key },
  });

  async function transcribe(
    work: SocketWork,
    recording: Uint8Array,
    { transcription, model }: SessionSettings,
    onDelta: (delta: string) => void,
    signal: AbortSignal,
  ): Promise<Transcript> {
    const { context, release } = await useModel(model, signal);
    try {
      const service = transcriptionOf(context.taskServices);
      const request = {
        recording,
        language: transcription?.language,
        translate: false,
        prompt: transcription?.prompt ?? '',
        temperature: 0,
        words: false,
        suppressNonSpeech: true,
      };
      let transcript = '';
      let seconds = 0;
      for await (const event of service.transcribe(request, requestContextOf(work, signal))) {
        if (event.type === 'segment') {
          const delta = transcript === '' ? event.segment.text.trimStart() : event.segment.text;
          transcript += delta;
          onDelta(delta);
        } else if (event.type === 'finish') seconds = event.seconds;
      }
      return { transcript: transcript.trim(), seconds };
    } finally {
      release();
    }
  }

  function listen(): Listening {
    let admitted: Promise<SocketWork> | undefined;
    return {
      async transcribe(recording, settings, onDelta, signal) {
        const again = admitted !== undefined;
        admitted ??= begin();
        const work = await admitted;
        answersAudio = true;
        if (again) await work.check();
        return transcribe(work, recording, settings, onDelta, signal);
      },
      end(failure) {
        const error = failure === undefined ? undefined : asAppError(failure);
        admitted?.then(
          ({ watch }) => {
            if (error && !socket.signal.aborted) watch?.errored?.(error);
            watch?.replied?.(error?.status ?? 200, {});
            watch?.ended?.(socket.signal.aborted ? 'client-gone' : error ? 'failed' : 'sent');
          },
          // A refusal is recorded already.
          () => undefined,
        );
      },
    };
  }

  async function answer(job: ResponseJob): Promise<void> {
    const signal = AbortSignal.any([job.signal, socket.signal]);
    const spaced = !answersAudio;
    answersAudio = false;
    // The connection itself needs the scope of audio.
    const work = await begin({ scope: 'chat', spaced });
    const { watch } = work;
    const { context, release } = await useModel(job.model, signal).catch((error: unknown) => {
      watch?.errored?.(asAppError(error));
      watch?.ended?.('failed');
      throw error;
    });
    try {
      watch?.modelSelected?.(context.modelName());
      const room = () => socket.written();
      await respond(
        { ...job, signal },
        { context, work, requestContext: requestContextOf(work, signal), splitSentences, room },
      );
    } finally {
      release();
    }
  }

  return { listen, hold, respond: answer };
}

/** A reason of a closing frame has at most 123 bytes. */
const keyInvalid = 'The key is no longer valid. Connect again with another one.';
