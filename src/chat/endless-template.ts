/** A template that was stopped: with more time it might have come to an end. */
export class EndlessTemplateError extends Error {
  constructor() {
    super('the template does not come to an end');
  }
}
