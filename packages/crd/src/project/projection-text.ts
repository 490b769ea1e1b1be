import type { ProjectionEvent } from './projector.ts';

/** A projection's event as a line of a log. */
export function projectionText(event: ProjectionEvent): string {
  switch (event.kind) {
    case 'quarantined':
      return `the live schema cannot hold the whole status; left out, and kept: ${event.places.join(', ')}`;
    case 'restored':
      return 'the whole status is written again';
    case 'blocked':
      return [`the status is not written: ${event.why}`, ...event.causes].join('; ');
    case 'unblocked':
      return 'the status is written again';
    case 'gone':
      return 'the object is gone whose status was cut or not written';
  }
}
