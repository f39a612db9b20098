import { WebSocket } from 'ws';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';
import { median, percentile } from './statistics.ts';

const questions = [
  'What is the capital of France?',
  'Hello, who are you?',
  'Can you tell me a short story about a fox?',
  'How many days are there in a week?',
  'What do you like to do when it rains?',
];
const silenceMs = 500;
const bytesPerMs = 48;

/** Milliseconds after the last word. */
interface Answered {
  readonly transcript: number;
  readonly text: number;
  readonly sound: number;
}

/** A spoken question in real time, and when its answer is heard: the built-in ears, model and voice. */
export async function talkBench({ server, quick, log }: BenchOptions): Promise<Row[]> {
  const { port, stop } = await startServer(server, { flags: [] });
  const answers: Answered[] = [];
  try {
    const recordings = await Promise.all(questions.map((question) => speechOf(port, question)));
    for (let round = 0; round < (quick ? 1 : 3); round += 1) {
      for (const [index, speech] of recordings.entries()) {
        const { heard, ...answered } = await ask(port, speech);
        answers.push(answered);
        const { transcript, text, sound } = answered;
        const times = [transcript, text, sound].map((ms) => ms.toFixed(0)).join(' / ');
        log(`${questions[index]} → ${heard}: ${times} ms (transcript / first sentence / first sound)`);
      }
    }
  } finally {
    await stop();
  }
  const row = (what: string, value: number): Row => ({ bench: 'talk', what, value, unit: 'ms' });
  const sounds = answers.map(({ sound }) => sound);
  return [
    row('end of speech to transcript', median(answers.map(({ transcript }) => transcript))),
    row('end of speech to first sentence', median(answers.map(({ text }) => text))),
    { ...row('end of speech to first sound', median(sounds)), goal: { atMost: 1200 } },
    row('end of speech to first sound, slowest of ten', percentile(sounds, 0.9)),
  ];
}

async function speechOf(port: number, input: string): Promise<Buffer> {
  const body = JSON.stringify({ input, response_format: 'pcm' });
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/speech`, { method: 'POST', body });
  return Buffer.from(await reply.arrayBuffer());
}

/** As a microphone delivers it: 40 ms every 40 ms, with silence before and after. */
async function ask(port: number, speech: Buffer): Promise<Answered & { readonly heard: string }> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const send = (event: object): void => socket.send(JSON.stringify(event));
  const input = {
    transcription: { model: 'default' },
    turn_detection: { type: 'server_vad', silence_duration_ms: silenceMs },
  };
  send({
    type: 'session.update',
    session: { type: 'realtime', instructions: 'Answer in short sentences.', audio: { input } },
  });
  const quiet = Buffer.alloc(1500 * bytesPerMs);
  const sound = Buffer.concat([quiet, speech, quiet, quiet]);
  const begunAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(sound.length, Math.floor((performance.now() - begunAt) / 40) * 40 * bytesPerMs);
    if (due > sent) send({ type: 'input_audio_buffer.append', audio: sound.subarray(sent, due).toString('base64') });
    sent = Math.max(sent, due);
  }, 10);
  try {
    return await new Promise((resolve, reject) => {
      let endedAt = 0;
      let heard = '';
      let transcript = 0;
      let text = 0;
      socket.on('message', (data) => {
        const event = JSON.parse(String(data)) as { type: string; audio_end_ms?: number; transcript?: string };
        const now = performance.now();
        if (event.type === 'input_audio_buffer.speech_stopped')
          endedAt = begunAt + (event.audio_end_ms ?? 0) - silenceMs;
        else if (event.type === 'conversation.item.input_audio_transcription.completed') {
          transcript = now - endedAt;
          heard = event.transcript ?? '';
        } else if (event.type === 'response.output_audio_transcript.delta') text ||= now - endedAt;
        else if (event.type === 'response.output_audio.delta')
          resolve({ transcript, text, sound: now - endedAt, heard });
        else if (event.type === 'error') reject(new Error(String(data)));
      });
    });
  } finally {
    clearInterval(timer);
    socket.terminate();
  }
}
