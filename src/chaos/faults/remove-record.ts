/** The record of a holder is deleted by hand, before its time: as by an eviction, or an operator. */
import { createIntervention, type InterventionKind } from './intervention.ts';

export const removingRecord: InterventionKind = {
  name: 'remove-record',
  title: "delete a holder's lock record by hand, before its time",
  causes: ['removed-early'],
  needs: 'this protocol has no one record that could be deleted',
};

export const removeRecord = createIntervention(removingRecord);
