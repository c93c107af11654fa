"""How far raters agree: coefficients with their intervals, and scores predicted from judges and a few experts."""
