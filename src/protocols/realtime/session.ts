import { Aborted } from '../../core/abort.ts';
import { type AppError, asAppError } from '../../core/errors.ts';
import { AudioBuffer, rateOf, samplesOf, wavOf } from './audio-buffer.ts';
import { Conversation, type Item, type ItemPart, type MessageItem, refused, truncate } from './conversation.ts';
import type { ClientEvent, NewItem, NewPart, ResponseOptions } from './decode.ts';
import type { ResponseEnd, ServerEvent } from './encode.ts';
import { changed, type ResponseSettings, type SessionSettings } from './fields.ts';
import { ResponseWriter } from './response-writer.ts';
import { VoiceActivity, type VoiceChange } from './voice-activity.ts';

export interface Transcript {
  readonly transcript: string;
  readonly seconds: number;
}

export interface ResponseJob {
  readonly model: string;
  readonly settings: ResponseSettings;
  readonly items: readonly Item[];
  readonly writer: ResponseWriter;
  readonly signal: AbortSignal;
}

/** The transcription of one turn or recording. It is one request, also if it is tried again. */
export interface Listening {
  transcribe(
    recording: Uint8Array,
    settings: SessionSettings,
    onDelta: (delta: string) => void,
    signal: AbortSignal,
  ): Promise<Transcript>;
  /** Nothing more of it is transcribed; with the error, if it has failed. */
  end(error?: unknown): void;
}

/** What engines do for a session. */
export interface SessionWork {
  listen(): Listening;
  /** Reserves memory for audio that waits to be transcribed. Returns what releases it; undefined if too much waits. */
  hold(bytes: number): (() => void) | undefined;
  /** Writes the response and finishes it. */
  respond(job: ResponseJob): Promise<void>;
}

interface SessionDeps {
  readonly settings: SessionSettings;
  readonly conversationId: string;
  readonly newId: (prefix: string) => string;
  readonly send: (event: ServerEvent) => void;
  readonly work: SessionWork;
}

/** What a client may send before it commits, and how long a turn may last. */
const maxSeconds = 300;
const transcription = 'conversation.item.input_audio_transcription';
/** OpenAI refuses shorter audio, which cannot contain a word. */
const minMs = 100;

/** The state of one connection: audio, turns, conversation, and at most one response. Engines are behind `work`. */
export class Session {
  readonly #conversation = new Conversation();
  readonly #closed = new AbortController();
  /** By item. */
  readonly #transcribing = new Map<string, Promise<void>>();
  #settings: SessionSettings;
  #buffer = new AudioBuffer();
  /** Half a sample at the end of the last bytes. */
  #odd: number | undefined;
  /** Milliseconds of audio before the buffer began: a change of the format begins another one. */
  #earlierMs = 0;
  #voice: { readonly activity: VoiceActivity; readonly from: number } | undefined;
  /** Speech that is going on. */
  #turn: Turn | undefined;
  #active: ActiveResponse | undefined;
  /** Turns of the user that no response was made for. */
  #unanswered = false;

  readonly #onVoice: Readonly<Record<VoiceChange['type'], (position: number) => void>> = {
    started: (position) => this.#turnBegins(position),
    paused: (position) => this.#transcribeEarly(position),
    resumed: () => this.#dropEarly(),
    stopped: (position) => this.#turnEnds(position),
  };

  constructor(private readonly deps: SessionDeps) {
    this.#settings = deps.settings;
    this.#listen();
  }

  begin(): void {
    this.deps.send({ type: 'session.created', session: this.#settings, ignored: [] });
    this.deps.send({ type: 'conversation.created' });
  }

  /** Throws if the event cannot be honoured; nothing has changed then. */
  receive(event: ClientEvent): void {
    switch (event.type) {
      case 'session.update':
      case 'transcription_session.update':
        this.#update(event);
        break;
      case 'input_audio_buffer.append':
        this.#append(event.audio);
        break;
      case 'input_audio_buffer.commit':
        this.#commitAll();
        break;
      case 'input_audio_buffer.clear':
        this.#buffer.clear();
        this.#dropTurn();
        this.#voice?.activity.reset();
        this.deps.send({ type: 'input_audio_buffer.cleared' });
        break;
      case 'conversation.item.create':
        this.#create(event.item, event.after);
        break;
      case 'conversation.item.delete':
        this.#conversation.remove(event.id);
        this.deps.send({ type: 'conversation.item.deleted', item_id: event.id });
        break;
      case 'conversation.item.retrieve':
        this.deps.send({ type: 'conversation.item.retrieved', item: this.#conversation.get(event.id) });
        break;
      case 'conversation.item.truncate': {
        const { id: item_id, contentIndex: content_index, audioEndMs: audio_end_ms } = event;
        truncate(this.#conversation.get(item_id), content_index, audio_end_ms);
        this.deps.send({ type: 'conversation.item.truncated', item_id, content_index, audio_end_ms });
        break;
      }
      case 'response.create':
        this.#respond(event);
        break;
      case 'response.cancel': {
        const { responseId = this.#active?.writer.id } = event;
        if (!this.#active || responseId !== this.#active.writer.id) {
          throw refused('There is no response to cancel.', 'response_cancel_not_active');
        }
        this.#cancel('client_cancelled');
        break;
      }
    }
  }

  /** Aborts everything, after the client has disconnected. */
  close(reason?: unknown): void {
    this.#closed.abort(reason);
    this.#active?.stop.abort(reason);
    this.#dropTurn();
  }

  #update({
    change,
    ignored,
  }: Extract<ClientEvent, { type: 'session.update' | 'transcription_session.update' }>): void {
    const before = this.#settings;
    this.#settings = changed(before, change);
    const { inputFormat, turnDetection } = this.#settings;
    if (inputFormat !== before.inputFormat) {
      this.#earlierMs = this.#milliseconds(this.#buffer.end, before);
      this.#buffer = new AudioBuffer();
      this.#odd = undefined;
    }
    const same =
      JSON.stringify([inputFormat, turnDetection]) === JSON.stringify([before.inputFormat, before.turnDetection]);
    if (!same) this.#listen();
    this.deps.send({ type: 'session.updated', session: this.#settings, ignored });
  }

  #listen(): void {
    const { turnDetection } = this.#settings;
    this.#dropTurn();
    this.#voice = turnDetection
      ? { activity: new VoiceActivity({ ...turnDetection, rate: this.#rate }), from: this.#buffer.end }
      : undefined;
  }

  get #rate(): number {
    return rateOf(this.#settings.inputFormat);
  }

  #milliseconds(position: number, settings = this.#settings): number {
    return Math.round(this.#earlierMs + (1000 * position) / rateOf(settings.inputFormat));
  }

  #append(audio: Buffer): void {
    const { samples, odd } = samplesOf(this.#settings.inputFormat, audio, this.#odd);
    if (!this.#voice && this.#buffer.length + samples.length > maxSeconds * this.#rate) {
      const sentence = `The audio buffer is full: it holds ${maxSeconds} seconds. Commit or clear it.`;
      throw refused(sentence, 'input_audio_buffer_full', 'audio');
    }
    this.#odd = odd;
    this.#buffer.append(samples);
    if (!this.#voice) return;
    const { activity, from } = this.#voice;
    for (const { type, sample } of activity.push(samples)) this.#onVoice[type](from + sample);
    if (this.#turn && this.#buffer.end - this.#turn.from > maxSeconds * this.#rate) {
      activity.reset();
      this.#turnEnds(this.#buffer.end);
    }
    const retained = ((this.#settings.turnDetection?.prefixPaddingMs ?? 0) + 1000) * (this.#rate / 1000);
    this.#buffer.dropBefore(this.#turn?.from ?? this.#buffer.end - retained);
  }

  /** Transcribes a turn that is probably over, so that its transcript is ready when its pause is long enough. */
  #transcribeEarly(position: number): void {
    if (!this.#turn) return;
    const stop = new AbortController();
    const recording = wavOf(this.#buffer.slice(this.#turn.from, position), this.#rate);
    const signal = AbortSignal.any([stop.signal, this.#closed.signal]);
    const transcript = this.#turn.listening.transcribe(recording, this.#settings, () => undefined, signal);
    transcript.catch(() => undefined);
    this.#turn.early = { stop, transcript };
  }

  #dropEarly(): void {
    this.#turn?.early?.stop.abort();
    if (this.#turn) this.#turn.early = undefined;
  }

  /** Discards the turn in progress without committing it. */
  #dropTurn(): void {
    this.#dropEarly();
    this.#turn?.listening.end();
    this.#turn = undefined;
  }

  #turnBegins(position: number): void {
    const { turnDetection } = this.#settings;
    const padding = ((turnDetection?.prefixPaddingMs ?? 0) * this.#rate) / 1000;
    const [itemId, from] = [this.deps.newId('item_'), Math.max(0, position - Math.round(padding))];
    this.#turn = { itemId, from, listening: this.deps.work.listen() };
    const audio_start_ms = this.#milliseconds(from);
    this.deps.send({ type: 'input_audio_buffer.speech_started', audio_start_ms, item_id: itemId });
    if (turnDetection?.interruptResponse && this.#active) this.#cancel('turn_detected');
  }

  #turnEnds(position: number): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    const audio_end_ms = this.#milliseconds(position);
    this.deps.send({ type: 'input_audio_buffer.speech_stopped', audio_end_ms, item_id: turn.itemId });
    const { itemId, from, listening, early } = turn;
    const recording = this.#held(this.#buffer.slice(from, position));
    const item = this.#commit(itemId, { index: 0, ...recording, early: early?.transcript, listening });
    this.#buffer.dropBefore(position);
    void this.#transcribing.get(item.id)?.then(() => this.#turnTranscribed(item));
  }

  /** Noise has no transcript, and gets no answer. */
  #turnTranscribed({ parts: [part] }: MessageItem): void {
    const { turnDetection, type } = this.#settings;
    if (!turnDetection?.createResponse || type !== 'realtime' || this.#closed.signal.aborted) return;
    if (part?.type === 'audio' && part.transcript) this.#unanswered = true;
    this.#answer();
  }

  /** Responds to the last turns, unless the user is speaking or a response is in progress. */
  #answer(): void {
    if (!this.#unanswered || this.#turn || this.#active || this.#transcribing.size > 0) return;
    this.#respond({ change: {}, conversation: 'auto', input: undefined, metadata: null, ignored: [] });
  }

  #commitAll(): void {
    const { length, end } = this.#buffer;
    const from = this.#turn?.from ?? end - length;
    if (end - from < (minMs * this.#rate) / 1000) {
      const sentence = `The audio buffer has less than ${minMs} ms of audio.`;
      throw refused(sentence, 'input_audio_buffer_commit_empty');
    }
    const recording = this.#held(this.#buffer.slice(from, end));
    if (recording.error) throw recording.error;
    const { itemId = this.deps.newId('item_'), listening = this.deps.work.listen() } = this.#turn ?? {};
    this.#dropEarly();
    this.#turn = undefined;
    this.#voice?.activity.reset();
    this.#buffer.clear();
    this.#commit(itemId, { index: 0, ...recording, listening });
  }

  /** A recording in memory, until it is transcribed; an error if too much audio waits already. */
  #held(samples: Int16Array): HeldAudio {
    const release = this.deps.work.hold(2 * samples.length);
    return release ? { file: wavOf(samples, this.#rate), release } : { error: tooMuchWaits() };
  }

  #commit(id: string, audio: NewAudio): MessageItem {
    const part: ItemPart = { type: 'audio', transcript: undefined };
    const item: MessageItem = { type: 'message', id, role: 'user', status: 'completed', parts: [part] };
    const previous = this.#conversation.add(item);
    this.deps.send({ type: 'input_audio_buffer.committed', previous_item_id: previous, item_id: id });
    this.#added(item, previous);
    this.#transcribe(item, [audio]);
    return item;
  }

  #added(item: Item, previous: string | null): void {
    for (const type of ['conversation.item.added', 'conversation.item.done'] as const)
      this.deps.send({ type, previous_item_id: previous, item });
    for (const item_id of this.#conversation.trim()) this.deps.send({ type: 'conversation.item.deleted', item_id });
  }

  #create(sent: NewItem, after: string | undefined): void {
    const { item, audio } = this.#made(sent);
    const previous = this.#conversation.add(item, after);
    const recordings = audio.map(({ index, samples }) => ({ index, ...this.#held(samples) }));
    const refusal = recordings.find(({ error }) => error)?.error;
    if (refusal) {
      for (const { release } of recordings) release?.();
      this.#conversation.remove(item.id);
      throw refusal;
    }
    this.#added(item, previous);
    if (item.type !== 'message' || recordings.length === 0) return;
    this.#transcribe(
      item,
      recordings.map((one) => ({ ...one, listening: this.deps.work.listen() })),
    );
  }

  /** The item, and its audio that is to be transcribed. */
  #made(sent: NewItem) {
    const common = { id: sent.id ?? this.deps.newId('item_'), status: 'completed' } as const;
    if (sent.type !== 'message') {
      const callId = sent.callId ?? this.deps.newId('call_');
      return { item: { ...sent, ...common, callId } satisfies Item, audio: [] };
    }
    const audio = sent.parts.flatMap((part, index) =>
      part.type === 'audio'
        ? { index, samples: samplesOf(this.#settings.inputFormat, part.audio, undefined).samples }
        : [],
    );
    const max = maxSeconds * this.#rate;
    if (audio.some(({ samples }) => samples.length > max)) {
      throw refused(`An item holds at most ${maxSeconds} seconds of audio.`, 'invalid_value', 'item.content');
    }
    return { item: { ...sent, ...common, parts: sent.parts.map(partOf) } satisfies Item, audio };
  }

  #transcribe(item: MessageItem, audio: readonly NewAudio[]): void {
    const work = Promise.all(audio.map((one) => this.#transcribePart(item, one))).then(() => {
      this.#transcribing.delete(item.id);
    });
    this.#transcribing.set(item.id, work);
  }

  /** Never rejects. Without a transcript the item stays in the conversation, empty. */
  async #transcribePart(item: MessageItem, audio: NewAudio): Promise<void> {
    const { send } = this.deps;
    const { index, early, listening } = audio;
    const part = item.parts[index];
    const position = { item_id: item.id, content_index: index };
    const settings = this.#settings;
    const isReported = settings.transcription !== null && item.role === 'user';
    const onDelta = (delta: string): void => {
      if (isReported) send({ type: `${transcription}.delta`, ...position, delta });
    };
    try {
      // One that failed is tried again.
      const known = await early?.catch(() => undefined);
      if (known && known.transcript !== '') onDelta(known.transcript);
      if (!known && audio.error) throw audio.error;
      const { file = new Uint8Array() } = audio;
      const { transcript, seconds } =
        known ?? (await listening.transcribe(file, settings, onDelta, this.#closed.signal));
      listening.end();
      if (part?.type === 'audio') part.transcript = transcript;
      const usage = { type: 'duration', seconds };
      if (isReported) send({ type: `${transcription}.completed`, ...position, transcript, usage });
    } catch (thrown) {
      listening.end(thrown);
      if (part?.type === 'audio') part.transcript = '';
      if (this.#closed.signal.aborted) return;
      const error = asAppError(thrown);
      if (isReported) send({ type: `${transcription}.failed`, ...position, error });
      else send({ type: 'error', error, about: undefined });
    } finally {
      audio.release?.();
    }
  }

  #respond(options: ResponseOptions): void {
    const { newId, send, conversationId } = this.deps;
    if (this.#settings.type === 'transcription') {
      throw refused('A transcription session makes no responses.', 'invalid_value', 'type');
    }
    if (this.#active) {
      const sentence = `The response ${this.#active.writer.id} is not over. Wait for response.done, or cancel it.`;
      throw refused(sentence, 'conversation_already_has_active_response');
    }
    const input = options.input?.map((one) =>
      one.type === 'reference' ? this.#conversation.get(one.id, 'response.input') : this.#inputItem(one),
    );
    const settings = changed<ResponseSettings>(this.#settings, options.change);
    const conversation = options.conversation === 'auto' ? this.#conversation : undefined;
    const { metadata, ignored } = options;
    const response = { id: newId('resp_'), settings, conversation, conversationId, metadata, ignored };
    const writer = new ResponseWriter({ ...response, newId, send });
    const active = { writer, stop: new AbortController() };
    this.#active = active;
    this.#unanswered = false;
    writer.begin();
    void this.#run(active, settings, input);
  }

  #inputItem(sent: NewItem): Item {
    const { item, audio } = this.#made(sent);
    if (audio.length === 0) return item;
    throw refused('Audio in response.input must be an item of the conversation.', 'invalid_value', 'response.input');
  }

  /** Never rejects. */
  async #run(active: ActiveResponse, settings: ResponseSettings, input: readonly Item[] | undefined): Promise<void> {
    const { writer, stop } = active;
    try {
      // The prompt includes the transcripts of all turns before.
      while (this.#transcribing.size > 0) await Promise.all(this.#transcribing.values());
      if (writer.finished || this.#closed.signal.aborted) return;
      const items = input ?? [...this.#conversation.items];
      const { model } = this.#settings;
      await this.deps.work.respond({ model, settings, items, writer, signal: stop.signal });
    } catch (error) {
      writer.finish({ type: 'failed', error: asAppError(error) });
    }
    writer.finish({ type: 'completed' });
    if (this.#active !== active) return;
    this.#active = undefined;
    if (!this.#closed.signal.aborted) this.#answer();
  }

  #cancel(reason: Extract<ResponseEnd, { type: 'cancelled' }>['reason']): void {
    const active = this.#active;
    this.#active = undefined;
    active?.writer.finish({ type: 'cancelled', reason });
    active?.stop.abort(new Aborted('cancelled'));
  }
}

interface Turn {
  readonly itemId: string;
  readonly from: number;
  readonly listening: Listening;
  /** Its transcription, begun in a pause after which it may go on. */
  early?: { readonly stop: AbortController; readonly transcript: Promise<Transcript> } | undefined;
}

interface ActiveResponse {
  readonly writer: ResponseWriter;
  readonly stop: AbortController;
}

interface HeldAudio {
  /** A WAV file. */
  readonly file?: Uint8Array;
  readonly release?: () => void;
  readonly error?: AppError;
}

interface NewAudio extends HeldAudio {
  readonly index: number;
  readonly listening: Listening;
  /** Its transcript, if that has begun. */
  readonly early?: Promise<Transcript> | undefined;
}

function tooMuchWaits(): AppError {
  const sentence =
    'Too much audio waits to be transcribed. Wait for the transcripts of what was sent, then send it again.';
  return refused(sentence, 'input_audio_buffer_full', 'audio');
}

function partOf(part: NewPart): ItemPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return { type: 'audio', transcript: part.type === 'transcript' ? part.text : undefined };
}
