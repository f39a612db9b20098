import { addressOf } from '../api/address.ts';
import { currentKey, requestKey } from '../api/key.svelte.ts';
import { loadCharacters, personas } from '../characters/library.svelte.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { leafOf, pathOf, withChange, withTurn } from '../conversations/tree.ts';
import { answeringModel } from '../models/models.svelte.ts';
import { server } from '../models/server.svelte.ts';
import { loadScripts, sentText } from '../replies/message-texts.svelte.ts';
import { speakerFields } from '../replies/prompt.svelte.ts';
import { systemOf } from '../replies/replies.svelte.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { Player } from '../sound/player.ts';
import { type Background, runInBackground } from './background.ts';
import { type Capture, openCapture, sampleRate } from './capture.ts';
import { base64Of, keyProtocol, readStep, type Step, samplesOf, stateAfter, type TalkState } from './events.ts';
import { instructions, texts } from './texts.ts';

/** The turns of the chat that the model is told at the beginning. */
const maxTurns = 40;

/** A connection that is lost so soon after the page came back was ended while it was in the background. */
const wakeMs = 10_000;

/** A spoken conversation in a chat: what is said on both sides becomes its messages. */
export class Talk {
  state = $state<TalkState | 'ended'>('connecting');
  muted = $state(false);
  /** Loudness of the microphone, 0 to 1. */
  level = $state(0);
  error = $state('');
  /** The system has paused the microphone. */
  paused = $state(false);
  /** Ended by the system in the background: it is to go on when the person returns. */
  asleep = $state(false);
  #wokeAt = 0;
  #background: Background | undefined;
  readonly #chatId: string;
  readonly #player = new Player(sampleRate, () => this.#silent());
  /** The message of each spoken item. */
  readonly #turns = new Map<string, string>();
  #capture: Capture | undefined;
  #socket: WebSocket | undefined;
  #answering = false;
  /** The answer was stopped here, and the server may not know it yet: what it still sends of it is left out. */
  #cancelled = false;
  /** The item that is said, until all of it was heard. */
  #spoken: string | undefined;

  constructor(chatId: string) {
    this.#chatId = chatId;
  }

  async start(): Promise<void> {
    try {
      const { llm, transcribe, tts } = server.features;
      if (!llm) throw new Error(texts.noModel);
      if (!transcribe) throw new Error(texts.noEars);
      if (!tts) throw new Error(texts.noVoice);
      if (server.state === 'locked' && !(await requestKey())) return this.end();
      await loadCharacters();
      await loadScripts(chatRecords.find(this.#chatId));
      const capture = await openCapture(
        (samples) => this.#hear(samples),
        (paused) => (this.paused = paused),
      );
      if (this.state === 'ended') return capture.stop();
      this.#capture = capture;
      this.#background = runInBackground({
        title: chatRecords.find(this.#chatId)?.title || texts.label,
        toggleMicrophone: () => this.toggleMute(),
        end: () => this.end(),
      });
      this.#connect();
    } catch (thrown) {
      this.#fail(thrown instanceof Error ? thrown.message : texts.failed);
    }
  }

  end(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    const turn = this.#answering && this.#spoken !== undefined ? this.#turns.get(this.#spoken) : undefined;
    if (turn !== undefined) change(this.#chatId, (chat) => withChange(chat, turn, { finish: 'stopped' }));
    this.#background?.end();
    this.#capture?.stop();
    this.#player.close();
    this.#socket?.close();
    this.level = 0;
  }

  toggleMute(): void {
    this.muted = !this.muted;
    this.#capture?.mute(this.muted);
    this.#background?.microphone(!this.muted);
  }

  /** The person is back on the page. */
  async wake(): Promise<void> {
    if (this.state === 'ended') return;
    this.#wokeAt = Date.now();
    this.#player.resume();
    if ((await this.#capture?.resume()) === false) this.#sleep();
  }

  #sleep(): void {
    this.#fail(texts.asleep);
    this.asleep = true;
  }

  /** A typed message: it is answered as a spoken one. False if it cannot be sent now. */
  say(text: string): boolean {
    if (this.state === 'ended' || this.state === 'connecting') return false;
    this.interrupt();
    this.#addTurn('user', text);
    const content = [{ type: 'input_text', text }];
    this.#send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    this.#send({ type: 'response.create' });
    return true;
  }

  /** Stops the answer, as speaking does. */
  interrupt(): void {
    if (this.#answering && !this.#cancelled) {
      this.#send({ type: 'response.cancel' });
      this.#cancelled = true;
    }
    this.#stopPlaying();
    if (this.state !== 'ended') this.state = 'listening';
  }

  #connect(): void {
    const address = new URL(addressOf('v1/realtime'));
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const model = answeringModel();
    if (model) address.searchParams.set('model', model);
    const key = currentKey();
    const socket = new WebSocket(address, ['realtime', ...(key === undefined ? [] : [keyProtocol(key)])]);
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#introduce();
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      const step = typeof data === 'string' ? readStep(data) : undefined;
      if (step) this.#take(step);
    };
    socket.onclose = ({ code }) => {
      if (this.state === 'ended') return;
      if (opened && (document.hidden || Date.now() - this.#wokeAt < wakeMs)) return this.#sleep();
      this.#fail(code === 1001 ? texts.stopped : opened ? texts.lost : texts.refused);
    };
  }

  /** What the model is told before the first word. */
  #introduce(): void {
    const chat = chatRecords.find(this.#chatId);
    const prompt = [systemOf(chat), instructions].filter((text) => text !== '').join('\n\n');
    const output = settings.voice ? { voice: settings.voice } : {};
    const input = { transcription: { model: 'default' }, turn_detection: { type: 'server_vad' } };
    this.#send({
      type: 'session.update',
      session: { type: 'realtime', instructions: prompt, audio: { input, output } },
    });
    const turns = chat ? pathOf(chat).slice(-maxTurns) : [];
    for (const [index, turn] of turns.entries()) {
      const { role } = turn;
      const text = chat ? sentText(chat, turn, turns.length - 1 - index) : '';
      if (role === 'tool' || text === '') continue;
      const content = [{ type: role === 'user' ? 'input_text' : 'output_text', text }];
      this.#send({ type: 'conversation.item.create', item: { type: 'message', role, content } });
    }
  }

  #send(event: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event));
  }

  #hear(samples: Int16Array): void {
    let power = 0;
    for (const sample of samples) power += (sample / 32_768) ** 2;
    this.level = Math.min(1, Math.sqrt(power / samples.length) * 5);
    this.#send({ type: 'input_audio_buffer.append', audio: base64Of(samples) });
  }

  #take(step: Step): void {
    if (this.state === 'ended') return;
    switch (step.type) {
      case 'speech-started':
        this.error = '';
        this.#stopPlaying();
        break;
      case 'heard':
        if (step.text !== '') this.#addTurn('user', step.text);
        break;
      case 'answer-begun':
        this.#answering = true;
        break;
      case 'said':
        if (this.#cancelled) return;
        this.#spoken = step.itemId;
        this.#say(step.itemId, step.text);
        break;
      case 'audio':
        if (this.#cancelled) return;
        this.#player.add(step.itemId, samplesOf(step.base64));
        break;
      case 'corrected':
        this.#correct(step.itemId, step.text);
        break;
      case 'answer-over':
        this.#answering = false;
        this.#cancelled = false;
        if (!this.#player.playing) this.#spoken = undefined;
        if (step.failed !== undefined) this.error = step.failed || texts.failed;
        break;
      case 'failed':
        this.error = step.text || texts.failed;
        break;
    }
    this.state = stateAfter(this.state, step, this.#player.playing);
  }

  /** All that was made so far is played. */
  #silent(): void {
    if (this.#answering) return;
    this.#spoken = undefined;
    if (this.state === 'speaking') this.state = 'listening';
  }

  /** The model is told what was heard of its answer, and the message is cut to that. */
  #stopPlaying(): void {
    const item_id = this.#spoken;
    if (item_id === undefined) return;
    this.#spoken = undefined;
    const audio_end_ms = this.#player.stop(item_id);
    this.#send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms });
    this.#send({ type: 'conversation.item.retrieve', item_id });
  }

  #addTurn(role: Turn['role'], text: string): string {
    const id = newId();
    change(
      this.#chatId,
      (chat) => {
        const parent = leafOf(chat)?.id ?? null;
        return withTurn(chat, { id, parent, role, text, at: Date.now(), ...speakerOf(chat, role, parent) });
      },
      { undoable: true },
    );
    return id;
  }

  #say(itemId: string, text: string): void {
    const known = this.#turns.get(itemId);
    if (known === undefined) this.#turns.set(itemId, this.#addTurn('assistant', text));
    else change(this.#chatId, (chat) => withChange(chat, known, { text: `${chat.turns[known]?.text ?? ''}${text}` }));
  }

  #correct(itemId: string, text: string): void {
    const id = this.#turns.get(itemId);
    if (id !== undefined) change(this.#chatId, (chat) => withChange(chat, id, { text, finish: 'interrupted' }));
  }

  #fail(text: string): void {
    this.end();
    this.error = text;
  }
}

/** Who says it: the character and the model that speaks for it, or the persona. */
function speakerOf(chat: Chat, role: Turn['role'], parent: string | null): Partial<Turn> {
  if (role === 'assistant')
    return { ...(server.model && { model: server.model }), ...speakerFields(chat, parent, undefined) };
  const name = personas.find(chat.persona)?.name;
  return name ? { name } : {};
}
