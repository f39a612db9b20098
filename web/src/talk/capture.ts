import { closeAudio, microphoneStream } from '../sound/microphone.ts';
import worklet from './capture-worklet.js?url';

/** 16 bits at 24 kHz, as the protocol takes it. */
export const sampleRate = 24_000;

export interface Capture {
  mute(muted: boolean): void;
  /** Goes on after the system has paused it; false if the microphone is lost. */
  resume(): Promise<boolean>;
  stop(): void;
}

/** Opens the microphone; throws an error for people if the browser does not allow it. */
export async function openCapture(
  onpiece: (samples: Int16Array) => void,
  onpause: (paused: boolean) => void = () => {},
): Promise<Capture> {
  // Without echo cancellation the voice of the server would interrupt itself.
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
  const stream = await microphoneStream(audio);
  const tracks = stream.getTracks();
  for (const track of tracks) {
    // By the system, as iOS does for a locked screen.
    track.onmute = track.onended = () => onpause(true);
    track.onunmute = () => onpause(false);
  }
  try {
    const { context, source } = sourceOf(stream);
    await context.audioWorklet.addModule(worklet);
    const node = new AudioWorkletNode(context, 'capture', { numberOfOutputs: 0, channelCount: 1 });
    node.port.onmessage = ({ data }: MessageEvent<Int16Array>) => onpiece(data);
    source.connect(node);
    await context.resume();
    return {
      mute: (muted) => {
        for (const track of tracks) track.enabled = !muted;
      },
      resume: async () => {
        await context.resume();
        return tracks.every(({ readyState }) => readyState === 'live');
      },
      stop: () => {
        node.port.onmessage = null;
        for (const track of tracks) track.stop();
        closeAudio(context);
      },
    };
  } catch (thrown) {
    for (const track of tracks) track.stop();
    throw thrown;
  }
}

/** Browsers resample well; those that refuse to do it for a microphone give their own rate, and the worklet resamples. */
function sourceOf(stream: MediaStream): { readonly context: AudioContext; readonly source: AudioNode } {
  const context = new AudioContext({ sampleRate });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    closeAudio(context);
    const own = new AudioContext();
    return { context: own, source: own.createMediaStreamSource(stream) };
  }
}
