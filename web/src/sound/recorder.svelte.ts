/** A recording by the microphone of this computer; one at a time. */
export const recorder = $state<{ running: boolean; seconds: number; level: number }>({
  running: false,
  seconds: 0,
  level: 0,
});

let active: { readonly media: MediaRecorder; readonly release: () => void } | undefined;

/** Begins; the promise is the whole recording, when somebody has called `stopRecording`. */
export async function record(): Promise<Blob> {
  if (!navigator.mediaDevices) throw new Error('The microphone can be used only on this computer or over HTTPS.');
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => {
    throw new Error('The browser does not allow the microphone.');
  });
  const media = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  const beganAt = Date.now();
  const stopMeter = meter(stream);
  const timer = setInterval(() => {
    recorder.seconds = (Date.now() - beganAt) / 1000;
  }, 200);
  const release = () => {
    clearInterval(timer);
    stopMeter();
    for (const track of stream.getTracks()) track.stop();
    Object.assign(recorder, { running: false, seconds: 0, level: 0 });
    active = undefined;
  };
  active = { media, release };
  recorder.running = true;
  return new Promise((resolve) => {
    media.ondataavailable = ({ data }) => pieces.push(data);
    media.onstop = () => {
      release();
      resolve(new Blob(pieces, { type: media.mimeType }));
    };
    media.start(500);
  });
}

export function stopRecording(): void {
  active?.media.stop();
}

/** How loud it is, from 0 to 1, so that somebody sees that they are heard. */
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
    void context.close();
  };
}
