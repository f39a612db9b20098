import { closeAudio, openMicrophone } from './microphone.ts';

/** Recording from the microphone; one at a time. */
export const recorder = $state<{ running: boolean; seconds: number; level: number }>({
  running: false,
  seconds: 0,
  level: 0,
});

let stop: (() => void) | undefined;

/**
 * Starts recording. Resolves with the recording after `stopRecording`, or undefined if it was stopped before the microphone
 * was open, or another one runs.
 */
export async function record(): Promise<Blob | undefined> {
  if (stop) return undefined;
  // The person may be asked for a long time whether the page may use the microphone.
  const opening = { stopped: false };
  stop = () => {
    opening.stopped = true;
    stop = undefined;
  };
  const recording = await openMicrophone().catch((thrown: unknown) => {
    if (!opening.stopped) stop = undefined;
    throw thrown;
  });
  if (opening.stopped) {
    recording.stop();
    return undefined;
  }
  const beganAt = Date.now();
  const stopMeter = meter(recording.stream);
  const timer = setInterval(() => {
    recorder.seconds = (Date.now() - beganAt) / 1000;
  }, 200);
  stop = recording.stop;
  recorder.running = true;
  return recording.whole.finally(() => {
    clearInterval(timer);
    stopMeter();
    stop = undefined;
    Object.assign(recorder, { running: false, seconds: 0, level: 0 });
  });
}

export function stopRecording(): void {
  stop?.();
}

/** Level from 0 to 1, as feedback that the microphone works. */
function meter(stream: MediaStream): () => void {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  let frame = 0;
  const look = () => {
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    recorder.level = Math.min(1, Math.sqrt(power) * 4);
    frame = requestAnimationFrame(look);
  };
  look();
  return () => {
    cancelAnimationFrame(frame);
    closeAudio(context);
  };
}
