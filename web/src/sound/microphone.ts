import { texts } from './texts.ts';

/** A running recording; `whole` resolves after `stop`. */
export interface Recording {
  readonly stream: MediaStream;
  readonly whole: Promise<Blob>;
  stop(): void;
}

/** Starts recording; throws an error for people if the browser does not allow it. */
export async function openMicrophone(): Promise<Recording> {
  if (!navigator.mediaDevices) throw new Error(texts.microphone.insecure);
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((thrown: unknown) => {
    throw new Error(refusalOf(thrown));
  });
  const machine = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  const whole = new Promise<Blob>((resolve, reject) => {
    const release = () => {
      for (const track of stream.getTracks()) track.stop();
    };
    machine.ondataavailable = ({ data }) => pieces.push(data);
    machine.onerror = () => {
      release();
      reject(new Error(texts.microphone.failed));
    };
    machine.onstop = () => {
      release();
      resolve(new Blob(pieces, { type: machine.mimeType }));
    };
  });
  machine.start(500);
  return { stream, whole, stop: () => machine.stop() };
}

export function refusalOf(thrown: unknown): string {
  if (thrown instanceof DOMException && thrown.name === 'NotFoundError') return texts.microphone.missing;
  return texts.microphone.blocked;
}

/** Closes an audio context that may be closed already: the browser does so by itself when it loses the device. */
export function closeAudio(context: Pick<AudioContext, 'state' | 'close'>): void {
  if (context.state !== 'closed') void context.close();
}
