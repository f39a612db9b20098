import { read } from '../api/call.ts';
import { sentenceOf } from '../api/failure.ts';
import { offerPack } from '../models/offers.ts';
import { newId } from '../saved/id.ts';
import { go, showResult } from '../ui/navigation.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { history, keptAudio } from './history.svelte.ts';
import type { Segment } from './subtitles.ts';
import { texts } from './texts.ts';

interface Answer {
  readonly text: string;
  readonly duration?: number;
  readonly segments?: readonly Segment[];
}

/** The running transcription; it goes on while another page is open. */
export const transcription = $state<{ running: boolean }>({ running: false });
let controller: AbortController | undefined;

interface TranscribeOptions {
  /** File name. */
  readonly name: string;
  /** What the recording is called in sentences. */
  readonly label?: string;
  /** Empty to detect it. */
  readonly language: string;
}

/** The transcript is saved, and shown on the Sound page; elsewhere a notice offers it. */
export async function transcribe(sound: Blob, { name, label = name, language }: TranscribeOptions): Promise<void> {
  const own = new AbortController();
  controller = own;
  transcription.running = true;
  const form = new FormData();
  form.set('file', sound, name);
  form.set('model', 'whisper-1');
  form.set('response_format', 'verbose_json');
  if (language !== '') form.set('language', language);
  try {
    const answer = await read<Answer>('v1/audio/transcriptions', { method: 'POST', body: form, signal: own.signal });
    const text = answer.text.trim();
    if (text === '') notify(texts.transcribe.noSpeech(label));
    else show(save({ ...answer, text }, sound, name), label);
    offerPack('transcription');
  } catch (thrown) {
    if (!own.signal.aborted) notify(texts.transcribe.failed(label, sentenceOf(thrown)), { kind: 'bad' });
  } finally {
    if (controller === own) transcription.running = false;
  }
}

export function stopTranscribing(): void {
  controller?.abort();
}

function save({ text, duration = 0, segments = [] }: Answer, sound: Blob, name: string): string {
  const id = newId();
  const parts = segments.map(({ start, end, text: words }) => ({ start, end, text: words }));
  const made = { id, kind: 'transcript', madeAt: Date.now(), name, text, duration, segments: parts } as const;
  history.put({ ...made, ...keptAudio(sound) });
  return id;
}

function show(id: string, label: string): void {
  const route = { view: 'sound', id } as const;
  if (showResult(route)) return;
  notify(texts.transcribe.ready(label), { action: { label: texts.transcribe.open, run: () => go(route) } });
}
