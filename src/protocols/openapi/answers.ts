/** In which forms the answers come that are not plain JSON, by their paths. */
const json = 'application/json';
const events = 'text/event-stream';
const both = [json, events];
const sounds = ['audio/mpeg', 'audio/wav', 'audio/ogg', 'audio/flac', 'audio/L16'];

const contentTypes: Readonly<Record<string, readonly string[]>> = {
  '/api/extra/generate/stream': [events],
  '/v1/chat/completions': both,
  '/v1/completions': both,
  '/v1/responses': both,
  '/v1/responses/{id}': both,
  '/v1/messages': both,
  '/completion': both,
  '/infill': both,
  '/v1/images/generations': both,
  '/v1/images/edits': both,
  '/audio/speech': [...sounds, events],
  '/audio/transcriptions': [json, 'text/plain', events],
  '/audio/translations': [json, 'text/plain'],
  '/api/extra/tts': sounds,
  '/metrics': ['text/plain'],
};

export function contentTypesOf(path: string): readonly string[] {
  return contentTypes[path] ?? [json];
}
