import { texts } from './texts.ts';

/** A running recording; `whole` resolves after `stop`. */
export interface Recording {
  readonly stream: MediaStream;
  readonly whole: Promise<Blob>;
  stop(): void;
}

/** Starts recording; throws an error for people if the browser does not allow it. */
export async function openMicrophone(): Promise<Recording> {
  const stream = await microphoneStream(true);
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

/** Opens the microphone; throws an error for people if the browser does not allow it. */
export async function microphoneStream(audio: MediaTrackConstraints | true): Promise<MediaStream> {
  if (!navigator.mediaDevices) throw new Error(texts.microphone.insecure);
  return navigator.mediaDevices.getUserMedia({ audio }).catch((thrown: unknown) => {
    const isMissing = thrown instanceof DOMException && thrown.name === 'NotFoundError';
    throw new Error(isMissing ? texts.microphone.missing : texts.microphone.blocked);
  });
}

/** Closes an audio context that may be closed already: the browser does so by itself when it loses the device. */
export function closeAudio(context: Pick<AudioContext, 'state' | 'close'>): void {
  if (context.state !== 'closed') void context.close();
}
