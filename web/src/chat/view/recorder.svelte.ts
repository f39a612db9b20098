import { tell, tellFailure } from '../../app/notices.svelte.ts';
import { transcriptOf } from '../attaching/read-file.ts';

/** The microphone: on, then what was said as text. */
export const recorder = $state<{ state: 'off' | 'listening' | 'writing'; seconds: number }>({
  state: 'off',
  seconds: 0,
});
let finish: (() => void) | undefined;
/** In less than that nobody says a word. */
const shortest = 300;

export async function listen(onText: (text: string) => void): Promise<void> {
  if (recorder.state !== 'off') {
    finish?.();
    return;
  }
  if (!navigator.mediaDevices) {
    tell('Browsers let a page listen only at a secure address (https) or on this computer.', { kind: 'bad' });
    return;
  }
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    Object.assign(recorder, { state: 'listening', seconds: 0 });
    const since = Date.now();
    const clock = setInterval(() => {
      recorder.seconds = Math.floor((Date.now() - since) / 1000);
    }, 200);
    const recording = await recorded(stream).finally(() => clearInterval(clock));
    recorder.state = 'writing';
    const text = Date.now() - since < shortest ? '' : await transcriptOf(recording);
    if (text === '') tell('Nothing was heard.');
    else onText(text);
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'NotAllowedError')
      tell('The browser does not let this page use the microphone.', { kind: 'bad' });
    else if (thrown instanceof DOMException && thrown.name === 'NotFoundError')
      tell('There is no microphone.', { kind: 'bad' });
    else tellFailure(thrown);
  } finally {
    recorder.state = 'off';
    finish = undefined;
  }
}

function recorded(stream: MediaStream): Promise<Blob> {
  return new Promise((resolve, reject) => {
    const pieces: Blob[] = [];
    const machine = new MediaRecorder(stream);
    machine.ondataavailable = ({ data }) => pieces.push(data);
    machine.onerror = () => reject(new Error('The recording failed.'));
    machine.onstop = () => {
      for (const track of stream.getTracks()) track.stop();
      resolve(new Blob(pieces, { type: machine.mimeType }));
    };
    finish = () => machine.stop();
    machine.start();
  });
}
